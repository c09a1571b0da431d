"""What identifies a paper: title, authors, year, DOI; as a line of a reference list and as BibTeX."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEY = "paper"  # where documents keep it in their metadata
MOST_AUTHORS = 200
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_ESCAPED = re.compile(r"[\\~^{}%&#_$]")


@dataclass(frozen=True, slots=True)
class PaperFacts:
    """What a paper says about itself; `bibliography` are the first and last line of its reference list."""

    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str = ""
    arxiv: str = ""
    bibliography: tuple[int, int] | None = None


def dump_facts(facts: PaperFacts) -> dict[str, Any]:
    """The facts as metadata of a document."""
    found = {
        "title": facts.title,
        "authors": list(facts.authors),
        "year": facts.year,
        "doi": facts.doi,
        "arxiv": facts.arxiv,
        "bibliography": list(facts.bibliography) if facts.bibliography else None,
    }
    return {name: value for name, value in found.items() if value}


def load_facts(metadata: Mapping[str, Any], title: str = "") -> PaperFacts:
    """The facts in the metadata of a document; what is missing or odd there is empty."""
    kept = metadata.get(KEY)
    given: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
    authors, year, lines = given.get("authors"), given.get("year"), given.get("bibliography")
    return PaperFacts(
        title=_text(given.get("title")) or title,
        authors=tuple(_text(name) for name in authors[:MOST_AUTHORS]) if isinstance(authors, list) else (),
        year=year if isinstance(year, int) and not isinstance(year, bool) else None,
        doi=_text(given.get("doi")),
        arxiv=_text(given.get("arxiv")),
        bibliography=_lines(lines),
    )


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _lines(value: Any) -> tuple[int, int] | None:
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(line, int) for line in value):
        return value[0], value[1]
    return None


def reference_of(facts: PaperFacts) -> str:
    """A line of a reference list, with what is known."""
    authors = ", ".join(facts.authors[:6]) + (" et al." if len(facts.authors) > 6 else "")
    parts = [authors, f"({facts.year})" if facts.year else "", facts.title]
    line = ". ".join(part.rstrip(".") if part != authors else part for part in parts if part)
    where = f"https://doi.org/{facts.doi}" if facts.doi else f"arXiv:{facts.arxiv}" if facts.arxiv else ""
    end = "" if line.endswith(("?", "!", "？", "！", "。")) else "."
    return f"{line}{end} {where}".rstrip()


def bibtex_of(papers: Sequence[PaperFacts]) -> str:
    """The papers as BibTeX, each under a key of its own."""
    used: set[str] = set()
    return "\n".join(_entry(paper, _key(paper, used)) for paper in papers)


def _entry(facts: PaperFacts, key: str) -> str:
    fields = {
        "title": f"{{{_escape(facts.title)}}}" if facts.title else "",
        "author": " and ".join(_escape(name) for name in facts.authors),
        "year": str(facts.year or ""),
        "doi": facts.doi,
        "eprint": facts.arxiv,
        "archiveprefix": "arXiv" if facts.arxiv else "",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'article' if facts.doi else 'misc'}{{{key},", *lines, "}"]) + "\n"


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _SPECIAL.get(found[0], f"\\{found[0]}"), text)


def _key(facts: PaperFacts, used: set[str]) -> str:
    """Name, year and first long word, in plain letters, and a letter more where that is taken."""
    family = facts.authors[0].split()[-1] if facts.authors and facts.authors[0].split() else ""
    word = next((word for word in map(_plain, facts.title.split()) if len(word) > 3), "")
    stem = f"{_plain(family)}{facts.year or ''}{word}" or "paper"
    key, more = stem, 1
    while key in used:
        more += 1
        key = f"{stem}-{more}"
    used.add(key)
    return key


def _plain(text: str) -> str:
    """The ASCII letters of a word; BibTeX takes no others in a key."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", folded.lower())
