"""What may be shown of documents: their texts under the redaction layer that their live chunks hold.

Nobody shows a text, a chunk or a title but through here. The verbatim text is for owners of the space.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.chunking.hiding import show_part
from kosmos.chunking.redaction import Kinds, apply_redactions, hide_identifiers, merge_redactions
from kosmos.db import chunks, spaces
from kosmos.db.chunks import Layer
from kosmos.domain.assets import Asset
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.redactions import Redaction, load_redactions
from kosmos.domain.space_settings import SpaceSettings, read_settings
from kosmos.errors import DataLost
from kosmos.tasks.workbench import Workbench

Find = Callable[[AsyncConnection], Awaitable[Document]]


def shown_chunk(chunk: Chunk) -> Chunk:
    """The chunk with the text that may be shown in place of the verbatim one."""
    if chunk.redaction is None:
        return chunk
    return replace(chunk, raw_content=show_part(chunk, load_redactions(chunk.redaction)))


def shown_chunks(found: Iterable[Chunk]) -> list[Chunk]:
    """All of them as they may be shown."""
    return [shown_chunk(chunk) for chunk in found]


def shown_text(text: str, layer: Layer) -> str:
    """A live text under its layer."""
    return apply_redactions(text, hidden_in(layer)) if layer.redactions else text


def hidden_in(layer: Layer) -> tuple[Redaction, ...]:
    """The redactions of a document; one that several chunks hold counts once."""
    return merge_redactions(item for stored in layer.redactions for item in load_redactions(stored))


def shown_assets(found: Sequence[Asset], kinds: Kinds) -> list[Asset]:
    """Figures whose captions and descriptions hide what the text hides."""
    return [
        replace(
            item,
            caption=hide_identifiers(item.caption, kinds),
            description=hide_identifiers(item.description, kinds) if item.description else item.description,
        )
        for item in found
    ]


async def settings_of(conn: AsyncConnection, space_id: str) -> SpaceSettings:
    """What a space wants."""
    return read_settings(await spaces.get_settings(conn, space_id))


async def layer_of(conn: AsyncConnection, document: Document) -> Layer | None:
    """The layer over a document's text; None when another version has become live since it was looked up."""
    layer = (await chunks.live_layers(conn, [document.id])).get(document.id)
    return layer if layer and layer.generation == document.live_generation else None


async def open_live(
    bench: Workbench, find: Find, *, missing: Callable[[Document], Exception], verbatim: bool = False
) -> tuple[Document, str, str]:
    """A document and its live text as it may be shown, or verbatim for those whom `find` lets through, and
    the verbatim text, which is for checks alone.

    Looked up again when a new version has just taken the place of this one.
    """
    tried: str | None = None
    while True:
        async with bench.db.read() as conn:
            document = await find(conn)
            layer = await layer_of(conn, document)
        if layer is None:
            continue
        sha256 = document.canonical_sha256
        if sha256 is None:
            raise missing(document)
        try:
            text = (await bench.blobs.read(sha256)).decode()
        except DataLost:
            if sha256 == tried:
                raise
            tried = sha256
            continue
        return document, text if verbatim else shown_text(text, layer), text
