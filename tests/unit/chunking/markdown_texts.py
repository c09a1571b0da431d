"""Generated Markdown: everything that a parser treats specially, in any order, in two languages."""

import random
from collections.abc import Callable

_WORDS = (
    *(
        "pump",
        "valve",
        "motor",
        "reset",
        "the",
        "of",
        "a",
        "number",
        "42",
        "pressure",
        "node",
        "Pod",
        "e.g.",
        "3.5",
    ),
    *("水泵", "阀门", "需要", "重启", "说明", "—", "’", "🙂", "שלום"),
)


def _sentence(rng: random.Random, most: int = 14) -> str:
    words = [rng.choice(_WORDS) for _ in range(rng.randint(1, most))]
    return " ".join(words) + rng.choice([".", "。", "?", "", ":", " ad@example.com."])


def _paragraph(rng: random.Random) -> str:
    return rng.choice(["\n", " "]).join(_sentence(rng) for _ in range(rng.randint(1, 6)))


def _lines(rng: random.Random, least: int, most: int, words: int = 14) -> list[str]:
    return [_sentence(rng, words) for _ in range(rng.randint(least, most))]


def _code(rng: random.Random) -> str:
    return "\n".join(["```yaml", "# not a heading", "", *_lines(rng, 0, 8)]) + rng.choice(["\n```", ""])


def _table(rng: random.Random) -> str:
    return "\n".join(["| a | b |", "|---|---|", *(f"| {line} | 1 |" for line in _lines(rng, 1, 6, 3))])


def _list(rng: random.Random) -> str:
    return "\n".join(rng.choice(["- ", "1. ", "  - ", "   "]) + line for line in _lines(rng, 1, 9))


def _chat(rng: random.Random) -> str:
    return "\n".join(f"{rng.choice(['Ann', '李雷'])}: {line}" for line in _lines(rng, 1, 12))


_BLOCKS: tuple[Callable[[random.Random], str], ...] = (
    *[lambda rng: f"{'#' * rng.randint(1, 6)} {_sentence(rng, 4)}"] * 3,
    lambda rng: f"{_sentence(rng, 3)}\n{rng.choice(['===', '---'])}",
    lambda rng: f"<!-- {_paragraph(rng)}" + rng.choice([" -->", "\n\n-->", " --> after", ""]),
    lambda rng: f"<div>\n{_sentence(rng)}\n</div>",
    lambda rng: "> " + _paragraph(rng).replace("\n", "\n> "),
    lambda rng: f"[{rng.choice('abc')}]: https://example.com/{rng.randint(1, 9)}",
    lambda rng: f"{rng.randint(1, 9)}.{rng.randint(1, 9)} Results and more",
    lambda rng: " ".join(_sentence(rng) for _ in range(rng.choice([3, 40]))),
    _paragraph,
    _code,
    _table,
    _list,
    _chat,
)


def generate(seed: int) -> str:
    """A text in canonical form: any blocks, separated by blank lines or not."""
    rng = random.Random(seed)
    head = rng.choice(["", "", "---\ntitle: x\n---\n", "\n\n", "   \n"])
    parts = [
        rng.choice(_BLOCKS)(rng) + rng.choice(["\n\n", "\n\n", "\n", "\n \n\n"])
        for _ in range(rng.randint(0, 16))
    ]
    return (head + "".join(parts)).rstrip("\n")
