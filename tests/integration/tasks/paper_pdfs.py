"""Six short papers of invented research, three in English and three in Chinese, set as PDF files.

`answers.json` holds what a careful reader answered to the prompts of the workflow about them.
"""

import io
import json
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).parent / "paper_texts"
ANSWERS: dict[str, dict[str, Any]] = json.loads((TEXTS / "answers.json").read_text(encoding="utf-8"))


def papers_in(language: str) -> dict[str, bytes]:
    """The papers in a language, by their names."""
    return {f"{file.stem}.pdf": set_pdf(file.read_text()) for file in sorted(TEXTS.glob(f"{language}-*.md"))}


def set_pdf(text: str) -> bytes:
    """A paper as a PDF file: a title, headings and paragraphs."""
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    parts = [part for part in text.split("\n\n") if part.strip()]
    chinese = any("\u4e00" <= char <= "\u9fff" for char in text)
    styles = _styles(chinese)
    first = parts.index(next(part for part in parts if part.startswith("## ")))
    story = []
    for at, part in enumerate(parts):
        kind = "title" if part.startswith("# ") else "heading" if part.startswith("## ") else "body"
        style = styles["head" if kind == "body" and at < first else kind]
        story.append(Paragraph(part.strip("# \n"), style))
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, title=parts[0].strip("# ")).build(story)
    return out.getvalue()


def _styles(chinese: bool) -> dict[str, Any]:
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    plain, bold = ("STSong-Light", "STSong-Light") if chinese else ("Helvetica", "Helvetica-Bold")
    if chinese:
        pdfmetrics.registerFont(UnicodeCIDFont(plain))

    def style(name: str, font: str, size: int, after: int = 8) -> Any:
        wrap = "CJK" if chinese else None
        return ParagraphStyle(
            name, fontName=font, fontSize=size, leading=size * 1.5, spaceAfter=after, wordWrap=wrap
        )

    return {
        "title": style("title", bold, 18),
        "heading": style("heading", bold, 13),
        "head": style("head", plain, 10, 24 if chinese else 8),
        "body": style("body", plain, 10),
    }
