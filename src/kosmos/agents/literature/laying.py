"""How papers, passages and summaries are laid before a model: numbered, labelled, fenced as data."""

from collections.abc import Iterable, Sequence

from kosmos.agents.literature.contract import Evidence, Paper
from kosmos.agents.literature.work import Work
from kosmos.agents.sources import Sources
from kosmos.domain.tokens import estimate_tokens
from kosmos.tools.contract import Passage

MOST_LISTED = 120  # papers named one by one


def label_papers(papers: Sequence[Paper]) -> dict[str, Paper]:
    """Short names for papers, which a model copies without mistakes."""
    return {f"D{number}": paper for number, paper in enumerate(papers, start=1)}


def list_papers(papers: Sequence[Paper], fence: str) -> str:
    """The papers, one a line, with what is known of them."""
    lines = [f"{label} · {describe(paper)}" for label, paper in label_papers(papers[:MOST_LISTED]).items()]
    if len(papers) > MOST_LISTED:
        lines.append(f"… {len(papers) - MOST_LISTED}")
    return Sources(fence).fenced("\n".join(lines))


def describe(paper: Paper) -> str:
    """Title, authors and year in one line."""
    names = ", ".join(paper.facts.authors[:3]) + (" et al." if len(paper.facts.authors) > 3 else "")
    parts = [" ".join(paper.title.split())[:200], names, str(paper.facts.year or "")]
    return " · ".join(part for part in parts if part)


def show_passages(work: Work, passages: Iterable[Passage]) -> str:
    """Passages under the numbers of the session."""
    return "\n\n".join(work.sources.show(passage)[1] for passage in passages)


def choose_evidence(work: Work, found: Sequence[Evidence], room: int) -> list[Evidence]:
    """Each passage once under its best score, most relevant first, as many as there is room for."""
    best: dict[tuple[str, int, int], Evidence] = {}
    for item in found:
        known = best.get(item.passage.place)
        if known is None or item.score > known.score:
            best[item.passage.place] = item
    ranked = sorted(best.values(), key=lambda item: (-item.score, item.passage.place))
    chosen: list[Evidence] = []
    for item in ranked:
        room -= estimate_tokens(item.passage.text) + 30
        if chosen and room < 0:
            break
        chosen.append(item)
    _trace(work, ranked, chosen)
    return chosen


def _trace(work: Work, ranked: Sequence[Evidence], chosen: Sequence[Evidence]) -> None:
    """Note every candidate with its score and whether it was used."""
    used = {item.passage.place for item in chosen}
    for item in ranked:
        passage = item.passage
        work.state.evidence.append(
            {
                "document_id": passage.document_id,
                "source": passage.source,
                "start_line": passage.start_line,
                "end_line": passage.end_line,
                "score": round(item.score, 4),
                "question": item.question,
                "weak": item.weak,
                "used": passage.place in used,
            }
        )


def in_reading_order(papers: Sequence[Paper], chosen: Sequence[Evidence]) -> list[Passage]:
    """Passages paper by paper, as they stand there."""
    order = {paper.document_id: at for at, paper in enumerate(papers)}
    passages = [item.passage for item in chosen]
    return sorted(passages, key=lambda one: (order.get(one.document_id, len(order)), one.start_line))
