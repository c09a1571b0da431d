"""Which files of a folder are taken."""

import pytest

from kosmos.tasks.folders import Choice


@pytest.mark.parametrize(
    ("include", "exclude", "path", "objection"),
    [
        ((), (), "a/b.md", None),
        (("*.md",), (), "a/b.md", None),
        (("a/*",), (), "a/c/b.md", None),
        (("b.*",), (), "a/b.md", None),
        (("*.txt",), (), "a/b.md", "not included"),
        ((), ("a/*",), "a/b.md", "excluded"),
        ((), ("b.md",), "a/b.md", "excluded"),
        (("*.md",), ("*/b.md",), "a/b.md", "excluded"),
        (("*.txt", "*.md"), ("c.md",), "a/b.md", None),
        ((), ("B.MD",), "a/b.md", None),
    ],
)
def test_objections(
    include: tuple[str, ...], exclude: tuple[str, ...], path: str, objection: str | None
) -> None:
    assert Choice(include, exclude).objection(path) == objection
