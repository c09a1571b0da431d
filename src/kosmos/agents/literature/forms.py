"""The fixed parts of answers: what condensed summaries say under which label, the table, the review form."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

ASPECTS = ("problem", "method", "data", "result", "limits")
_LABELS = {
    "problem": ("Problem", "问题"),
    "method": ("Method", "方法"),
    "data": ("Data", "数据"),
    "result": ("Result", "结果"),
    "limits": ("Limits", "局限"),
    "notes": ("Notes", "要点"),
}
_NAMES = {name: aspect for aspect, names in _LABELS.items() for name in (names[0].lower(), names[1])}
_LABEL = re.compile(
    rf"\s*(?:[-*]\s+|#+\s*)?[*_]*({'|'.join(map(re.escape, _NAMES))})s?[*_]*\s*(?:[:：]|$)[*_]*\s*(.*)",
    re.IGNORECASE,
)
_TABLE = re.compile(r"^\s*\|.*\|\s*\n\s*\|[\s:|-]+\|\s*$", re.MULTILINE)
_FIRST = re.compile(r".{0,240}?(?:[。；]|[.;](?=\s|\[|\Z))(?:\s*\[\d+\])*|.{0,240}")
_HEADS = {
    "English": ("Paper", "Problem", "Method", "Data", "Result", "Limits"),
    "Chinese": ("论文", "问题", "方法", "数据", "结果", "局限"),
}
_TITLES = {
    "English": ("## Comparison", "## References"),
    "Chinese": ("## 对照表", "## 参考文献"),
}
_SECTIONS = {
    "summary": ("summary", "概述", "摘要", "总结"),
    "strengths": ("strengths", "优点"),
    "weaknesses": ("weaknesses", "不足", "缺点"),
    "questions": ("questions", "问题"),
    "rating": ("rating", "评分"),
}
_RATING = re.compile(r"(?:rating|评分)[*_]*\s*[:：][*_\s]*(\d{1,2}(?:\.\d)?)\s*(?:/|／)\s*10", re.IGNORECASE)
_CONFIDENCE = re.compile(r"(?:confidence|置信度)[*_]*\s*[:：][*_\s]*([1-5])\s*(?:/|／)\s*5", re.IGNORECASE)


def read_condensed(text: str) -> dict[str, str]:
    """What a condensed summary says of each aspect; nothing where it does not keep to the form."""
    found: dict[str, list[str]] = {}
    now: list[str] | None = None
    for line in text.split("\n"):
        label = _LABEL.match(line)
        if label:
            now = found.setdefault(_NAMES[label[1].lower()], [])
            now.append(label[2])
        elif now is not None and line.strip():
            now.append(line.strip())
    return {aspect: " ".join(part for part in parts if part) for aspect, parts in found.items()}


def has_table(text: str) -> bool:
    """Whether there is a table in a Markdown text."""
    return _TABLE.search(text) is not None


def header_rows(text: str) -> set[str]:
    """The first rows of tables: they state nothing."""
    return {" ".join(found[0].strip().split("\n")[0].split()) for found in _TABLE.finditer(text)}


def compare(rows: Sequence[tuple[str, str]], language: str) -> str:
    """The table that compares papers, from their titles and condensed summaries; markers stay."""
    heads = _HEADS[language]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for title, summary in rows:
        said = read_condensed(summary)
        cells = [_cell(title), *(_cell(_first(said.get(aspect, ""))) or "–" for aspect in ASPECTS)]
        lines.append(f"| {' | '.join(cells)} |")
    return f"{_TITLES[language][0]}\n\n" + "\n".join(lines)


def _first(text: str) -> str:
    """The first sentence with its markers."""
    found = _FIRST.match(text)
    return found[0].strip() if found else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def reference_list(references: Sequence[str], language: str) -> str:
    """The list at the end of a literature review."""
    return "\n".join([_TITLES[language][1], "", *(f"- {line}" for line in references)])


def read_review(text: str) -> Mapping[str, Any]:
    """Rating and confidence of a review, and the parts of the form that it lacks."""
    heads = [
        line.strip("#*_ \t:：").lower() for line in text.split("\n") if line.lstrip().startswith(("#", "**"))
    ]
    missing = [
        name
        for name, words in _SECTIONS.items()
        if not any(head.startswith(word) or head.endswith(word) for head in heads for word in words)
    ]
    rating, confidence = _RATING.search(text), _CONFIDENCE.search(text)
    return {
        "rating": float(rating[1]) if rating else None,
        "confidence": int(confidence[1]) if confidence else None,
        "missing": missing,
    }


def is_verdict(text: str) -> bool:
    """Whether a sentence is the rating itself, which rests on no passage."""
    return bool(_RATING.match(text) or _CONFIDENCE.match(text))
