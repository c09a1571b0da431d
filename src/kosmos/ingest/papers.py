"""Finds out whether a text is a paper and what it says about itself: authors, year, DOI, its reference list.

Nothing here needs a model. What is not certain stays empty: a wrong author is worse than none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kosmos.domain.papers import PaperFacts

HEAD_LINES = 80  # where a paper introduces itself
HEAD_CHARS = 400  # of each such line
_EARLIEST = 0.3  # of the text: a reference list does not come before
_ABSTRACT = re.compile(
    r"[\s#*_>]*(?:(?i:abstract)|摘\s*要|内容提要)(?=\s*(?:[*_:：.—–-]|\Z|(?:We|This|In|The|本)\b))"
    r"|#{1,6}\s+(?i:summary)\s*\Z"
)
_REFERENCES = re.compile(
    r"(?P<marks>#{1,6}\s+|)[*_]*(?:\d{1,2}\.?\s+|[IVX]{1,5}\.\s+)?"
    r"(?:references|reference list|bibliography|literature cited|works cited|参\s*考\s*文\s*献|引用文献)"
    r"[*_]*\s*[:：]?\s*[*_]*",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(#{1,6})\s")
_ENTRY = re.compile(r"\s*(?:[-*]\s+)?(?:\[\d{1,4}\]|\d{1,4}[.)]\s|［\d)|.{0,600}?\b(?:19|20)\d{2}\b")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|\\^`\[\]]{1,200}")
_DOI_LINE = re.compile(r"\W{0,5}(?:https?://(?:dx\.)?doi|doi)\b", re.IGNORECASE)
_ARXIV = re.compile(r"\barxiv\s*[:：]?\s*(\d{2})(\d{2})\.(\d{4,5})(?:v\d+)?", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d./-])((?:19|20)\d{2})(?![\d/-])")
_MARKS = re.compile(r"[\d⁰¹²³⁴⁵⁶⁷⁸⁹*†‡§¶∗#\[\]()（）{}^$\\]+|(?<=\s),|@\S+")
_BETWEEN = re.compile(r"\s*(?:[,，;；、&·]|\band\b|\s和\s|\s{2,})\s*")
_LATIN_NAME = re.compile(r"(?:[A-Z][\w'’.-]*|[a-z]{2,3})(?:\s+(?:[A-Z][\w'’.-]*|[a-z]{2,3})){1,4}")
_INNER = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")  # short names are often spaced out
_CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]{2,4}")
_AFFILIATION = re.compile(
    r"universit|institut|department|laborator|college|school|faculty|academy|centre|center|hospital|"
    r"inc\.|corp|ltd|proceedings|journal|conference|大学|学院|研究|实验室|医院|公司|中心|学报|期刊",
    re.IGNORECASE,
)


def find_facts(text: str, title: str, metadata: Mapping[str, Any]) -> PaperFacts | None:
    """What a paper says about itself, or None for a text that is no paper.

    Two of three make a paper: an abstract near its beginning, a reference list, a DOI or arXiv number.
    """
    lines = text.split("\n")
    head = [line[:HEAD_CHARS] for line in lines[:HEAD_LINES]]
    abstract = next((at for at, line in enumerate(head) if _ABSTRACT.match(line)), None)
    listed = find_bibliography(lines)
    top = head if listed is None else head[: listed[0] - 1]
    before = top[:abstract] if abstract is not None else top[:20]
    doi, arxiv = _doi(before, top, metadata), _arxiv(top)
    if (abstract is not None) + (listed is not None) + bool(doi or arxiv) < 2:
        return None
    return PaperFacts(
        title=title,
        authors=_declared_authors(metadata) or _printed_authors(before, title),
        year=_declared_year(metadata) or _printed_year(before, arxiv),
        doi=doi,
        arxiv=arxiv,
        bibliography=listed,
    )


def find_bibliography(lines: Sequence[str]) -> tuple[int, int] | None:
    """First and last line of the reference list, from 1; None when there is none."""
    for at in range(int(len(lines) * _EARLIEST), len(lines)):
        line = lines[at]
        if len(line) > 60 or not (found := _REFERENCES.fullmatch(line.strip())):
            continue
        end = _end_of_section(lines, at, len(found["marks"].strip()))
        entries = [entry for entry in lines[at + 1 : end] if entry.strip()]
        if entries and 3 * sum(bool(_ENTRY.match(entry[:800])) for entry in entries) >= len(entries):
            return at + 1, end
    return None


def _end_of_section(lines: Sequence[str], start: int, level: int) -> int:
    """The line before the next heading that is not below this one; any heading where this is none."""
    for at in range(start + 1, len(lines)):
        heading = _HEADING.match(lines[at])
        if heading and (level == 0 or len(heading[1]) <= level):
            return at
    return len(lines)


def _doi(before: Sequence[str], head: Sequence[str], metadata: Mapping[str, Any]) -> str:
    """Its own: declared, above the abstract, or on a line that begins with it, as at the foot of a page."""
    declared = [str(metadata[name]) for name in ("doi", "DOI", "subject") if name in metadata]
    for line in [*declared, *before, *filter(_DOI_LINE.match, head)]:
        if found := _DOI.search(line):
            return found[0].rstrip(".,;:)'*_")
    return ""


def _arxiv(head: Sequence[str]) -> str:
    for line in head:
        if found := _ARXIV.search(line):
            return f"{found[1]}{found[2]}.{found[3]}"
    return ""


def _declared_year(metadata: Mapping[str, Any]) -> int | None:
    for name in ("year", "date", "published"):
        if found := _YEAR.match(str(metadata.get(name, ""))[:4]):
            return int(found[1])
    return None


def _printed_year(before: Sequence[str], arxiv: str) -> int | None:
    for line in before:
        if found := _YEAR.search(_DOI.sub(" ", line)):
            return int(found[1])
    return 2000 + int(arxiv[:2]) if arxiv else None


def _declared_authors(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    for name in ("authors", "author"):
        value = metadata.get(name)
        if isinstance(value, list):
            return tuple(" ".join(str(item).split()) for item in value if str(item).strip())
        if isinstance(value, str) and (names := tuple(_names(value))):
            return names
    return ()


def _printed_authors(before: Sequence[str], title: str) -> tuple[str, ...]:
    """The names on the lines between title and abstract that hold hardly anything but names."""
    found: list[str] = []
    squeezed = "".join(title.split()).casefold()
    for line in before:
        plain = line.strip("#*_ \t")
        if not plain or "".join(plain.split()).casefold() in squeezed:
            continue
        # A converter may have put the house behind the last name; a single name before it may be a town.
        house = _AFFILIATION.search(plain)
        if house and _CHINESE_NAME.search(plain):
            continue
        plain = plain[: house.start()] if house else plain
        parts = [part for part in _BETWEEN.split(_MARKS.sub(" ", plain).strip()) if part.strip()]
        names = list(_names(plain))
        if len(names) > bool(house) and len(names) >= 0.7 * len(parts):
            found += names
    return tuple(dict.fromkeys(found))


def _names(text: str) -> Iterator[str]:
    for part in _BETWEEN.split(_MARKS.sub(" ", text).strip()):
        name = _INNER.sub("", " ".join(part.split()))
        if _LATIN_NAME.fullmatch(name) or _CHINESE_NAME.fullmatch(name):
            yield name
