"""What other tools add to reStructuredText, read for its text: directives and roles that docutils lacks."""

import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, Parser, directives, states
from docutils.parsers.rst.languages import en

_DIRECTIVE = re.compile(r"^\s*\.\.(?: \|[^|\n]{1,100}\|)? ([A-Za-z][\w:+.-]{0,60}?)::(?:\s|$)", re.MULTILINE)
_MOST = 1000
_CODE = frozenset(
    {"code-block", "sourcecode", "code", "prompt", "ipython", "doctest", "testcode", "parsed-literal"}
)
# No text of their own, or another one every day.
_SILENT = frozenset(
    {"date", "index", "highlight", "default-domain", "currentmodule", "module", "tabularcolumns"}
)
_NOTES = {"seealso": "See also", "versionadded": "Added in version", "versionchanged": "Changed in version"}
_NOTES |= {"deprecated": "Deprecated since version", "versionremoved": "Removed in version", "todo": "To do"}
_PLAIN_ROLES = frozenset(
    {"ref", "doc", "term", "numref", "abbr", "any", "download", "menuselection", "guilabel"}
)
_TARGET = re.compile(r"\s*<[^<>]*>$")


class _AnyOption(dict[str, Any]):
    """Options of any name: an unknown one is no reason to lose what stands below it."""

    def __missing__(self, _: str) -> Any:
        return directives.unchanged


class _Tolerant(Directive):  # type: ignore[misc, unused-ignore]
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOption({"class": directives.unchanged})

    def _text(self) -> str:
        return self.arguments[0].strip() if self.arguments else ""


class _Code(_Tolerant):
    """Code with its language."""

    def run(self) -> list[nodes.Node]:
        language = re.sub(r"[^\w+#.-]", "", self._text())
        code = "\n".join(self.content)
        return [nodes.literal_block(code, code, classes=["code", f"language-{language or 'none'}"])]


class _Silent(_Tolerant):
    """Nothing."""

    def run(self) -> list[nodes.Node]:
        return []


class _Note(_Tolerant):
    """A note whose title is what the directive means."""

    def run(self) -> list[nodes.Node]:
        label = _NOTES[self.name]
        version, _, rest = self._text().partition("\n")
        if "version" in label and version:
            label, text = f"{label} {version.strip()}", rest
        else:
            text = self._text()
        note = nodes.admonition("", nodes.title("", label), classes=["note"])
        if text.strip():
            inline, messages = self.state.inline_text(text, self.lineno)
            note += nodes.paragraph("", "", *inline, *messages)
        self.state.nested_parse(self.content, self.content_offset, note)
        return [note]


class _Listing(_Tolerant):
    """A table of contents over files: their names as a list."""

    def run(self) -> list[nodes.Node]:
        entries = [line.strip() for line in self.content if line.strip()]
        items = [nodes.list_item("", nodes.paragraph("", entry)) for entry in entries]
        return [nodes.bullet_list("", *items)] if items else []


class _Unknown(_Tolerant):
    """The argument as code, as for a described function, and what stands below it."""

    def run(self) -> list[nodes.Node]:
        box = nodes.container()
        for line in self._text().split("\n"):
            if line.strip():
                box += nodes.paragraph("", "", nodes.literal("", line.strip()))
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def _tolerant_inliner() -> states.Inliner:
    """An inliner that reads roles which nobody registered for their text; docutils allows no subclass."""
    inliner = states.Inliner()
    strict = inliner.interpreted

    def interpreted(rawsource: str, text: str, role: str, lineno: int) -> Any:
        found, messages = strict(rawsource, text, role, lineno)
        if any(isinstance(node, nodes.problematic) for node in found):
            return [_read_role(text, role)], []
        return found, messages

    inliner.interpreted = interpreted
    return inliner


def _read_role(text: str, role: str) -> nodes.Node:
    shown = _TARGET.sub("", nodes.unescape(text)).strip() or text
    if role.rpartition(":")[2] in _PLAIN_ROLES:
        return nodes.Text(shown)
    shown = shown.rpartition(".")[2] if shown.startswith("~") else shown.lstrip("!")
    return nodes.literal("", shown)


def tolerant_parser(text: str) -> Parser:
    """A parser that knows every directive of this text, the strange ones as plain text."""
    for name in _CODE:
        directives.register_directive(name, _Code)
    for name in _SILENT:
        directives.register_directive(name, _Silent)
    for name in _NOTES:
        directives.register_directive(name, _Note)
    directives.register_directive("toctree", _Listing)
    known = set(en.directives) | set(directives._directives)
    for name in sorted({found.lower() for found in _DIRECTIVE.findall(text)} - known)[:_MOST]:
        directives.register_directive(name, _Unknown)
    return Parser(inliner=_tolerant_inliner())
