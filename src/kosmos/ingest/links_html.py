"""Links, images and ids in HTML that stands inside Markdown."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kosmos.domain.trees import LinkKind
from kosmos.ingest.links_shortcodes import CALL, read_call

# Longer tags are not read, so that no text can make each `<` look at all that follows.
MAX_TAG = 2000
MAX_TEXT = 300
_VALUE = r"""(?:"(?>(?:\{\{[<%][^{}]*\}\}|[^"])*)"|'(?>[^']*)'|(?>[^\s"'=<>`]+))"""
TAG = re.compile(rf"<([A-Za-z][A-Za-z0-9-]*)((?>(?:\s+[A-Za-z_:][\w.:-]*(?>(?:\s*=\s*{_VALUE})?))*))\s*/?>")
_ATTRIBUTE = re.compile(rf"([A-Za-z_:][\w.:-]*)\s*=\s*({_VALUE})")
_MARKUP = re.compile(r"<[^<>]*>")
_MARK = re.compile(r"<!--|<(?=[A-Za-z])|\{\{[<%]")
_HIDDEN = {"script", "style", "pre", "textarea"}


@dataclass(frozen=True, slots=True)
class Found:
    """Something at an offset of a text: a link, or (`kind` None) a place that links may name."""

    kind: LinkKind | None
    offset: int
    target: str
    text: str = ""
    shortcode: str = ""


def scan_html(content: str) -> Iterator[Found]:
    """What a block of HTML links to; code, scripts and comments are passed over."""
    position = 0
    while mark := _MARK.search(content, position):
        position = mark.end()
        if mark.group() == "<!--":
            position = _behind(content, "-->", position)
        elif mark.group() != "<":
            if call := CALL.match(content, mark.start(), mark.start() + MAX_TAG):
                yield from found_call(call)
                position = call.end()
        elif tag := TAG.match(content, mark.start(), mark.start() + MAX_TAG):
            yield from read_tag(tag, content)
            hidden = tag.group(1).lower() in _HIDDEN
            position = _behind(content, f"</{tag.group(1)}", tag.end()) if hidden else tag.end()


def read_tag(tag: re.Match[str], content: str) -> Iterator[Found]:
    """The link and the id of one tag."""
    if "=" not in tag.group(2):
        return
    name = tag.group(1).lower()
    given = {key.lower(): _unquote(value) for key, value in _ATTRIBUTE.findall(tag.group(2))}
    place = given.get("id") or (given.get("name") if name == "a" else None)
    if place:
        yield Found(None, tag.start(), place)
    if name == "a" and given.get("href"):
        yield addressed(LinkKind.HTML, tag.start(), given["href"], _text_after(content, tag.end()))
    elif name == "img" and given.get("src"):
        yield addressed(LinkKind.IMAGE, tag.start(), given["src"], given.get("alt", ""))


def addressed(kind: LinkKind, offset: int, target: str, text: str) -> Found:
    """A link whose address may be a template call with something behind it."""
    call = CALL.match(target)
    read = read_call(call.group()) if call else None
    if call is None or read is None:
        return Found(kind, offset, target, text)
    return Found(kind, offset, read.target + target[call.end() :], text, read.name)


def found_call(match: re.Match[str]) -> Iterator[Found]:
    """The link of a template call that stands by itself."""
    call = read_call(match.group())
    if call:
        kind = LinkKind.IMAGE if call.name == "figure" else LinkKind.SHORTCODE
        yield Found(kind, match.start(), call.target, call.text, call.name)


def _text_after(content: str, start: int) -> str:
    end = content.find("</", start, start + MAX_TEXT)
    return " ".join(_MARKUP.sub("", content[start:end]).split()) if end >= 0 else ""


def _unquote(value: str) -> str:
    return html.unescape(value[1:-1] if value[0] in "\"'" else value)


def _behind(content: str, mark: str, start: int) -> int:
    """The position behind the next mark, or the end of the text without one."""
    end = content.find(mark, start)
    return end + len(mark) if end >= 0 else len(content)
