"""The parts of a Word file before it is converted: equations, heading styles, headers and footers."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats.docx_equations import name_of, to_latex
from kosmos.ingest.formats.prose import flatten
from kosmos.ingest.formats.refusals import SAVE_AGAIN
from kosmos.ingest.formats.zip_limits import read_member

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"(?:heading|标题|標題|überschrift|titre)\s*([1-9])$", re.IGNORECASE)
_TITLES = ("title", "标题", "標題")
_DEEPEST = 6
# Markup takes some forty times its size in memory while it is converted.
MAX_TEXT_BYTES = 20 * 2**20
# Characters no font shows: around the number of an equation while the text is converted.
OPEN, CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A Word file whose equations are numbers, and what the numbers stand for."""

    data: bytes
    equations: tuple[str, ...]
    style_map: str
    margins: tuple[str, ...]
    comments: int


def prepare(archive: zipfile.ZipFile, name: str) -> Prepared:
    """The file as mammoth can read it, with what mammoth would lose."""
    main = _main_part(archive, name)
    equations: list[str] = []
    changed = {}
    for part in _text_parts(archive, main):
        if archive.getinfo(part).file_size > MAX_TEXT_BYTES:
            raise TooLarge(
                f"{name} holds more than {MAX_TEXT_BYTES // 2**20} MB of text markup.",
                remedy="Split it into several documents.",
            )
        root = _parse(archive, part, name)
        _replace_equations(root, equations)
        _style_outline_levels(root)
        changed[part] = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    folder = main.rpartition("/")[0]
    style_map = _style_map(archive, f"{folder}/styles.xml", name)
    return Prepared(
        data=_rewrite(archive, changed, name),
        equations=tuple(equations),
        style_map=style_map,
        margins=tuple(_margin_texts(archive, folder, name)),
        comments=_count_comments(archive, f"{folder}/comments.xml", name),
    )


def _main_part(archive: zipfile.ZipFile, name: str) -> str:
    names = set(archive.namelist())
    if "_rels/.rels" in names:
        for relation in _parse(archive, "_rels/.rels", name):
            target = relation.get("Target", "").lstrip("/")
            if relation.get("Type", "").endswith("/officeDocument") and target in names:
                return target
    if "word/document.xml" in names:
        return "word/document.xml"
    raise InvalidInput(f"{name} is a zip archive, but not a Word document.", remedy=SAVE_AGAIN)


def _text_parts(archive: zipfile.ZipFile, main: str) -> list[str]:
    folder = main.rpartition("/")[0]
    notes = [f"{folder}/footnotes.xml", f"{folder}/endnotes.xml"]
    return [main, *(part for part in notes if part in archive.namelist())]


def _parse(archive: zipfile.ZipFile, part: str, name: str) -> Element:
    try:
        # Parts with entities were refused when the archive was opened.
        return ElementTree.fromstring(read_member(archive, part, name))  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError):
        raise InvalidInput(f"{name} is damaged: its part {part} is no XML.", remedy=SAVE_AGAIN) from None


def _replace_equations(root: Element, equations: list[str]) -> None:
    for parent in list(root.iter()):
        for index, child in enumerate(list(parent)):
            kind = name_of(child)
            if kind in ("oMath", "oMathPara") and name_of(parent) != "oMathPara":
                parent[index] = _stand_in(child, equations)


def _stand_in(element: Element, equations: list[str]) -> Element:
    """A run with the number of an equation; one in a paragraph of its own is shown as a display."""
    if name_of(element) == "oMathPara":
        parts = [to_latex(child) for child in element if name_of(child) == "oMath"]
        equations.append("$$" + " \\\\ ".join(part for part in parts if part) + "$$")
    else:
        equations.append("$" + to_latex(element) + "$")
    run = Element(f"{W}r")
    text = ElementTree.SubElement(run, f"{W}t")
    text.text = f"{OPEN}{len(equations) - 1}{CLOSE}" if equations[-1].strip("$") else ""
    return run


def _style_outline_levels(root: Element) -> None:
    """Paragraphs made headings by hand get a style, which is all mammoth looks at."""
    for properties in root.iter(f"{W}pPr"):
        level = properties.find(f"{W}outlineLvl")
        if level is None or properties.find(f"{W}pStyle") is not None:
            continue
        depth = level.get(f"{W}val", "")
        if depth.isdigit() and int(depth) < 9:
            style = Element(f"{W}pStyle", {f"{W}val": f"KosmosHeading{min(int(depth) + 1, _DEEPEST)}"})
            properties.insert(0, style)


def _style_map(archive: zipfile.ZipFile, part: str, name: str) -> str:
    """Rules of mammoth that make headings of every style that is one by name, outline level or origin."""
    rules = [f"p.KosmosHeading{level} => h{level}:fresh" for level in range(1, _DEEPEST + 1)]
    rules += [
        "p[style-name='HTML Preformatted'] => pre:separator('\\n')",
        "p[style-name='Source Code'] => pre:separator('\\n')",
        "p[style-name='Code'] => pre:separator('\\n')",
        "p[style-name='Quote'] => blockquote > p:fresh",
        "p[style-name='Intense Quote'] => blockquote > p:fresh",
    ]
    if part in archive.namelist():
        styles = {
            style.get(f"{W}styleId", ""): style
            for style in _parse(archive, part, name).iter(f"{W}style")
            if style.get(f"{W}type") == "paragraph"
        }
        for style in styles.values():
            level = _style_level(style, styles, 0)
            if level and _style_name(style):
                escaped = _style_name(style).replace("\\", "\\\\").replace("'", "\\'")
                rules.append(f"p[style-name='{escaped}'] => h{min(level, _DEEPEST)}:fresh")
    return "\n".join(rules)


def _style_name(style: Element) -> str:
    element = style.find(f"{W}name")
    return "" if element is None else flatten(element.get(f"{W}val", ""))


def _style_level(style: Element, styles: dict[str, Element], depth: int) -> int:
    name = _style_name(style)
    match = _HEADING.match(name)
    if match:
        return int(match.group(1))
    if name.lower() in _TITLES:
        return 1
    level = style.find(f"{W}pPr/{W}outlineLvl")
    if level is not None:
        value = level.get(f"{W}val", "")
        return int(value) + 1 if value.isdigit() and int(value) < 9 else 0
    origin = style.find(f"{W}basedOn")
    parent = styles.get(origin.get(f"{W}val", "")) if origin is not None else None
    return 0 if parent is None or depth > 10 else _style_level(parent, styles, depth + 1)


def _margin_texts(archive: zipfile.ZipFile, folder: str, name: str) -> Iterator[str]:
    """The texts of page headers and footers, each once."""
    pattern = re.compile(re.escape(folder) + r"/(?:header|footer)\d*\.xml")
    seen: set[str] = set()
    for part in sorted(archive.namelist()):
        if pattern.fullmatch(part):
            text = flatten(_text_of(_parse(archive, part, name)))
            if text and text not in seen:
                seen.add(text)
                yield text


def _text_of(root: Element) -> str:
    return " ".join("".join(text.text or "" for text in p.iter(f"{W}t")) for p in root.iter(f"{W}p"))


def _count_comments(archive: zipfile.ZipFile, part: str, name: str) -> int:
    if part not in archive.namelist():
        return 0
    return sum(1 for _ in _parse(archive, part, name).iter(f"{W}comment"))


def _rewrite(archive: zipfile.ZipFile, changed: dict[str, bytes], name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as copy:
        for part in _once(archive.namelist()):
            copy.writestr(part, changed.get(part) or read_member(archive, part, name))
    return buffer.getvalue()


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
