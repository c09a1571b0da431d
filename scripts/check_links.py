"""Finds dead links in the Markdown of the repository: `python scripts/check_links.py [ROOT]`.

Files, images and `#anchors` are looked up; addresses on the web are not fetched.
Exit 0: all links lead somewhere. Exit 1: findings, one a line. Exit 2: no Markdown under ROOT.
"""

import argparse
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Prompts, test material and build products are not pages for readers: of these only a README is checked.
NOT_PAGES = {"src", "tests", "build", "dist", "demo-home"}
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
MARKDOWN = MarkdownIt("commonmark").enable("table")
# What GitHub keeps of a heading besides letters and marks: digits, letter-like numbers, "_" and its kin.
SLUG_CATEGORIES = {"Nd", "Nl", "Pc"}


@dataclass(frozen=True)
class Link:
    """A link or image and the line it stands in."""

    line: int
    target: str


@dataclass(frozen=True)
class Page:
    """What a Markdown file points to and what can be pointed to in it."""

    links: tuple[Link, ...]
    anchors: frozenset[str]


class Tags(HTMLParser):
    """Collects links and anchors from raw HTML; `links` hold lines counted from 0."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.anchors: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes that link or can be linked to."""
        line = self.getpos()[0] - 1
        for key, value in attrs:
            if key == "id" or (key == "name" and tag == "a"):
                self.anchors.append(value or "")
            elif key in {"href", "src"}:
                self.links.append(Link(line, value or ""))
            elif key == "srcset":
                self.links += [
                    Link(line, part.split()[0]) for part in (value or "").split(",") if part.split()
                ]


def slug(heading: str) -> str:
    """The anchor GitHub gives to the text of a heading."""
    kept = (
        char
        for char in heading.strip().lower()
        if char in "- "
        or unicodedata.category(char)[0] in "LM"
        or unicodedata.category(char) in SLUG_CATEGORIES
    )
    return "".join(kept).replace(" ", "-")


def heading_text(inline: Token) -> str:
    """What a reader sees of a heading; images and markup are no part of it."""
    children = inline.children or []
    return "".join(child.content for child in children if child.type in {"text", "code_inline"})


def inline_parts(token: Token, line: int) -> Iterator[Link | str]:
    """Links, and anchors as plain strings, of one paragraph, heading or cell."""
    for child in token.children or []:
        if child.type == "link_open":
            yield Link(line, str(child.attrs["href"]))
        elif child.type == "image":
            yield Link(line, str(child.attrs["src"]))
        elif child.type == "html_inline":
            yield from html_parts(child.content, line)
            line += child.content.count("\n")
        elif child.type in {"softbreak", "hardbreak"}:
            line += 1


def html_parts(html: str, line: int) -> Iterator[Link | str]:
    """Links and anchors of raw HTML that starts in the given line."""
    tags = Tags(html)
    yield from tags.anchors
    yield from (Link(line + link.line, link.target) for link in tags.links)


def page_parts(text: str) -> Iterator[Link | str]:
    """Links and anchors of a Markdown text; code is skipped by the parser."""
    seen: Counter[str] = Counter()
    line, before = 1, ""
    for token in MARKDOWN.parse(text):
        line = token.map[0] + 1 if token.map else line
        if token.type == "html_block":
            yield from html_parts(token.content, line)
        elif token.type == "inline":
            yield from inline_parts(token, line)
            if before == "heading_open":
                name = slug(heading_text(token))
                # The second heading of one name becomes name-1, the third name-2.
                yield f"{name}-{seen[name]}" if seen[name] else name
                seen[name] += 1
        before = token.type


@cache
def read_page(file: Path) -> Page:
    """The parsed file; a page that many others link to is read once."""
    parts = list(page_parts(file.read_text(encoding="utf-8")))
    return Page(
        links=tuple(part for part in parts if isinstance(part, Link)),
        anchors=frozenset(part for part in parts if isinstance(part, str)),
    )


def fault(target: str, file: Path, root: Path) -> str | None:
    """Why the target of a link in the file is dead, or None if it is not."""
    if EXTERNAL.match(target):
        return None
    if not target:
        return "empty target"
    address, _, anchor = target.partition("#")
    path = unquote(address.partition("?")[0])
    place = root / path.lstrip("/") if path.startswith("/") else file.parent / path
    place = place.resolve() if path else file
    if not place.is_relative_to(root):
        return "outside the repository"
    if not place.exists():
        return "no such file"
    page = place / "README.md" if place.is_dir() else place
    # Browsers take an empty anchor and "top" as the top of the page. Anchors of other formats are unknown.
    if anchor in {"", "top"} or (page.suffix != ".md" and place.is_file()):
        return None
    if not page.is_file() or unquote(anchor) not in read_page(page).anchors:
        return "no such heading"
    return None


def markdown_files(root: Path) -> Iterator[Path]:
    """The Markdown pages of the repository, hidden folders left out."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        place = Path(folder)
        pages = not NOT_PAGES.intersection(place.relative_to(root).parts[:1])
        for name in sorted(names):
            if name.endswith(".md") and (pages or name.startswith("README")):
                yield place / name


def main(argv: Sequence[str] | None = None) -> int:
    """Check every page, print what was found, return the exit code."""
    parser = argparse.ArgumentParser(description="Find dead links in Markdown files.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    root: Path = parser.parse_args(argv).root.resolve()
    files = list(markdown_files(root))
    if not files:
        print(f"no Markdown files under {root}")
        return 2
    links = [(file, link) for file in files for link in read_page(file).links]
    faults = [(file, link, reason) for file, link in links if (reason := fault(link.target, file, root))]
    for file, link, reason in faults:
        print(f"{file.relative_to(root).as_posix()}:{link.line}: {unquote(link.target)}: {reason}")
    print(f"{len(files)} files, {len(links)} links, {len(faults)} dead")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
