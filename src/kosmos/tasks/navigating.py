"""Where the chunks of a document lead: noted when they are made, resolved when they enter the index."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.chunking.redaction import Kinds, shown_values
from kosmos.db import documents
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.trees import Link, LinkKind, MarkdownTree, Navigation
from kosmos.ingest.links_resolving import resolve_links
from kosmos.ingest.links_sources import SourceIndex, alias_paths
from kosmos.ingest.navigation import find_next_steps, find_see_also, read_navigation
from kosmos.retrieval.indexing import LINKS, NAVIGATION

MAX_LINKS = 200  # noted for one chunk
FRESH_SECONDS = 20.0  # so long the sources of a space are not looked up again
PAGE = 1000
_LEADING = {LinkKind.INLINE, LinkKind.REFERENCE, LinkKind.AUTOLINK, LinkKind.HTML, LinkKind.SHORTCODE}


@dataclass(slots=True)
class SourceCache:
    """The sources of spaces, as links name them. What is new is known a little later."""

    known: dict[str, tuple[float, SourceIndex]] = field(default_factory=dict)

    async def get(self, conn: AsyncConnection, space_id: str) -> SourceIndex:
        """The sources of a space, at most some seconds old."""
        now = time.monotonic()
        made, index = self.known.get(space_id, (float("-inf"), SourceIndex({})))
        if now - made > FRESH_SECONDS:
            index = await _read_sources(conn, space_id)
            self.known[space_id] = (time.monotonic(), index)
        return index


def note_links(made: Sequence[Chunk], tree: MarkdownTree, text: str, *, kinds: Kinds) -> list[Chunk]:
    """The chunks with the links on their lines, and the first with where its document says to read on.

    What the text hides, its links hide: they are noted as they may be shown.
    """
    if not made:
        return []
    by_line = _relations(tree)
    links = [link for link in tree.links if link.kind in _LEADING]
    noted, at = [], 0
    for chunk in made:
        while at < len(links) and links[at].line < chunk.start_line:
            at += 1
        own = []
        while at < len(links) and links[at].line <= chunk.end_line:
            own.append(_note(links[at], by_line, kinds))
            at += 1
        at -= len([note for note in own if note["line"] == chunk.end_line])  # two chunks may share a line
        noted.append(_with(chunk, {LINKS: own[:MAX_LINKS]}) if own else chunk)
    onward = read_navigation(tree, text) if made[0].position == 0 else Navigation()
    if onward.nav_next_step or onward.nav_see_also:
        steps = {"next_step": onward.nav_next_step[:2000], "see_also": onward.nav_see_also[:2000]}
        noted[0] = _with(noted[0], {NAVIGATION: shown_values(steps, kinds)})
    return noted


def relate(
    document: Document, chunks: Sequence[Chunk], sources: SourceIndex
) -> dict[str, list[dict[str, Any]]]:
    """By chunk, where its links lead on the site: next steps first, then see-also, then mentions.

    `document_id` is None for what the space does not have.
    """
    return {
        chunk.id: _related(document, chunk.metadata[LINKS], sources)
        for chunk in chunks
        if chunk.metadata.get(LINKS)
    }


def resolve_url(url: str, own: str, sources: SourceIndex) -> str | None:
    """The document that an address leads to, seen from a source."""
    (found,) = resolve_links([Link(LinkKind.INLINE, 1, url)], own, sources)
    return found.document_id


def _related(
    document: Document, notes: Sequence[Mapping[str, Any]], sources: SourceIndex
) -> list[dict[str, Any]]:
    links = [_link(note) for note in notes]
    resolved = resolve_links(links, document.source_url or document.source, sources)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for note, item in zip(notes, resolved, strict=True):
        # One that is not there yet may come later: the walk looks again.
        if not item.internal or item.document_id == document.id or note["url"].startswith("#"):
            continue
        found.setdefault(
            (item.document_id or note["url"], item.anchor),
            {
                "relation": note.get("relation", "mention"),
                "document_id": item.document_id,
                "source": item.source,
                "anchor": item.anchor,
                "text": note.get("text", ""),
                "url": note["url"],
                "line": note["line"],
            },
        )
    order = ("next_step", "see_also", "mention")
    return sorted(found.values(), key=lambda link: order.index(str(link["relation"])))


def _note(link: Link, relations: Sequence[tuple[int, int, str]], kinds: Kinds) -> dict[str, Any]:
    relation = next((name for start, end, name in relations if start <= link.line <= end), "mention")
    shown = shown_values({"url": link.target[:2000], "text": link.text[:200]}, kinds)
    note = {"line": link.line, **shown, "relation": relation}
    if not link.shortcode:
        return note
    return {**note, "kind": link.kind.value, "shortcode": shown_values(link.shortcode, kinds)}


def _link(note: Mapping[str, Any]) -> Link:
    kind = LinkKind(note["kind"]) if note.get("kind") else LinkKind.INLINE
    return Link(
        kind, int(note["line"]), str(note["url"]), str(note.get("text", "")), str(note.get("shortcode", ""))
    )


def _relations(tree: MarkdownTree) -> list[tuple[int, int, str]]:
    steps = [(node.start_line, node.end_line, "next_step") for node in find_next_steps(tree)]
    return steps + [(node.start_line, node.end_line, "see_also") for node in find_see_also(tree)]


def _with(chunk: Chunk, more: Mapping[str, Any]) -> Chunk:
    return replace(chunk, metadata={**chunk.metadata, **more})


async def _read_sources(conn: AsyncConnection, space_id: str) -> SourceIndex:
    sources: dict[str, str] = {}
    aliases: dict[str, str] = {}
    after = ""
    while batch := await documents.list_documents(conn, space_id, after=after, limit=PAGE):
        for document in batch:
            name = document.source_url or document.source
            sources[name] = document.id
            aliases.update(dict.fromkeys(alias_paths(name, document.metadata), name))
        after = batch[-1].id
    return SourceIndex(sources, aliases)
