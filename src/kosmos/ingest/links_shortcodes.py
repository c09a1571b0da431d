"""Template calls of documentation sites (Hugo shortcodes) that lead somewhere: `{{< ref "page#part" >}}`."""

import re
from dataclasses import dataclass

# A call between matching marks. One with `/*` inside only shows how it is written.
CALL = re.compile(r"\{\{(?:<(?!/\*)(?>[^{}]{0,2000}?>\}\})|%(?!/\*)(?>[^{}]{0,2000}?%\}\}))")
_NAME = re.compile(r"\s*(/?\s*[A-Za-z][\w./-]*)")
_ARGUMENT = re.compile(r"""(?:([A-Za-z_][\w-]*)\s*=\s*)?(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([^\s"'`=]+))""")
_PAGES = {"ref", "relref"}
_INCLUDES = {"include", "readfile"}
_TERMS = {"glossary_tooltip", "glossary_definition"}
_SAMPLES = {"code_sample", "codenew", "code", "example"}


@dataclass(frozen=True, slots=True)
class Call:
    """A template call that leads to a page, a term, an image or a file."""

    name: str
    target: str
    text: str = ""


def read_call(written: str) -> Call | None:
    """Where a call leads; None for those that only shape the page."""
    name = _NAME.match(written, 3)
    if name is None:
        return None
    given = _arguments(written[name.end() : -3])
    target = _target(name.group(1), given)
    text = given.get("text") or given.get("caption") or given.get("alt") or given.get("title") or ""
    return Call(name.group(1), target, text) if target else None


def _arguments(written: str) -> dict[str, str]:
    """Arguments by name; those without one by their position."""
    found: dict[str, str] = {}
    for match in _ARGUMENT.finditer(written.rstrip("/ ")):
        key, *values = match.groups()
        found.setdefault(key or str(len(found)), next(value for value in values if value is not None))
    return found


def _target(name: str, given: dict[str, str]) -> str:
    if name in _PAGES:
        return given.get("path") or given.get("0", "")
    if name in _INCLUDES:
        return given.get("0") or given.get("file", "")
    if name in _TERMS:
        return given.get("term_id", "")
    if name in _SAMPLES:
        return given.get("file", "")
    if name == "figure":
        return given.get("src", "")
    if name == "api-reference":
        anchor = given.get("anchor", "")
        return given.get("page", "") + (f"#{anchor}" if anchor else "")
    return ""
