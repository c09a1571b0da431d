"""All identifiers of a text: each detector gives spans, the surer one keeps its own where two overlap."""

from bisect import bisect_right
from dataclasses import replace

from kosmos.chunking.detectors.assignments import find_assigned
from kosmos.chunking.detectors.cards import find_cards
from kosmos.chunking.detectors.emails import find_emails
from kosmos.chunking.detectors.identities import find_identities
from kosmos.chunking.detectors.letters import find_lettered
from kosmos.chunking.detectors.phones import find_phones
from kosmos.chunking.detectors.scan import Detector, Span, scan_text
from kosmos.chunking.detectors.tokens import find_tokens
from kosmos.domain.redactions import Redaction, RedactionSource, mark_of

# The surest first. The latter look at nothing but runs of digits, which few short texts have.
_BY_SIGNS: tuple[Detector, ...] = (find_tokens, find_assigned, find_emails, find_lettered)
_BY_DIGITS: tuple[Detector, ...] = (find_identities, find_cards, find_phones)


def find_identifiers(text: str) -> list[Redaction]:
    """What identifies people or opens doors: addresses, numbers with valid check digits, keys, passwords."""
    spans = _find_spans(text)
    breaks = _find_breaks(text) if spans else []
    return [_place(span, breaks) for span in spans]


def _find_spans(text: str) -> list[Span]:
    scan = scan_text(text)
    detectors = (*_BY_SIGNS, *_BY_DIGITS) if scan.runs else _BY_SIGNS
    ranked = [
        (span.start, rank, -span.end, span)
        for rank, detector in enumerate(detectors)
        for span in detector(scan)
    ]
    kept: list[tuple[int, Span]] = []
    for _, rank, _, span in sorted(ranked, key=lambda item: item[:3]):
        if kept and span.start < kept[-1][1].end:
            kept += _settle(*kept.pop(), rank, span)
        else:
            kept.append((rank, span))
    return [span for _, span in kept]


def _settle(its_rank: int, first: Span, rank: int, second: Span) -> list[tuple[int, Span]]:
    """Two spans that overlap: the surer whole, of the other what is left, so that nothing found is shown."""
    if rank < its_rank:
        before, after = replace(first, end=second.start), replace(first, start=second.end)
        parts = [(its_rank, before), (rank, second), (its_rank, after)]
    else:
        parts = [(its_rank, first), (rank, replace(second, start=first.end))]
    return [(order, span) for order, span in parts if span.start < span.end]


def _find_breaks(text: str) -> list[int]:
    """Where the lines start."""
    starts = [0]
    while (at := text.find("\n", starts[-1])) >= 0:
        starts.append(at + 1)
    return starts


def _place(span: Span, starts: list[int]) -> Redaction:
    first, last = bisect_right(starts, span.start), bisect_right(starts, span.end - 1)
    return Redaction(
        start_line=first,
        end_line=last,
        kind=span.kind,
        source=RedactionSource.DETECTOR,
        replacement=mark_of(span.kind),
        reason=span.reason,
        start_column=span.start - starts[first - 1],
        end_column=span.end - starts[last - 1],
    )
