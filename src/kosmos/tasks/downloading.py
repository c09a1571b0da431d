"""Stored bytes on their way out: originals and assets, for those who may read them."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_document
from kosmos.db import assets
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.assets import Asset
from kosmos.domain.documents import Document
from kosmos.errors import DataLost, NotFound
from kosmos.tasks.showing import layer_of, settings_of, shown_assets
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Download:
    """A file to give out: `pieces` are its bytes, the first of which has been read already."""

    name: str
    media_type: str
    size: int
    sha256: str
    pieces: AsyncIterator[bytes]


async def open_original(bench: Workbench, who: Principal, document_id: str) -> Download:
    """The file that a document was made of; looked up again when a new version has just taken its place.

    Where something of the text is hidden, or nobody knows yet, the file is for owners as the text is.
    """
    tried: str | None = None
    while True:
        async with bench.db.read() as conn:
            document = await require_document(conn, who, document_id)
            if await _hides(conn, document):
                await require_document(conn, who, document_id, need=Role.OWNER)
        sha256 = document.original_sha256
        try:
            pieces = await _begin(bench, sha256)
            return Download(document.filename, "application/octet-stream", document.size, sha256, pieces)
        except DataLost:
            if sha256 == tried:
                raise
            tried = sha256


async def _hides(conn: AsyncConnection, document: Document) -> bool:
    """Whether something of the document is hidden from readers, or may be once it is chunked."""
    layer = await layer_of(conn, document)
    if layer is not None and document.live_generation > 0:
        return bool(layer.redactions)
    return bool((await settings_of(conn, document.space_id)).hidden_kinds)


async def list_assets(bench: Workbench, who: Principal, document_id: str) -> list[Asset]:
    """The assets of a document's live version, in the order of its text."""
    async with bench.db.read() as conn:
        document = await require_document(conn, who, document_id)
        found = await assets.list_assets(conn, document.id, document.live_generation)
        return shown_assets(found, (await settings_of(conn, document.space_id)).hidden_kinds)


async def open_asset(bench: Workbench, who: Principal, asset_id: str) -> Download:
    """The bytes of an asset."""
    asset, document = await _find_asset(bench, who, asset_id)
    stem = document.filename.rsplit(".", maxsplit=1)[0]
    ending = asset.media_type.rpartition("/")[2]
    name = f"{stem}-{asset.sha256[:8]}.{ending if ending.isalnum() else 'bin'}"
    return Download(name, asset.media_type, asset.size, asset.sha256, await _begin(bench, asset.sha256))


async def _find_asset(bench: Workbench, who: Principal, asset_id: str) -> tuple[Asset, Document]:
    missing = NotFound(f"There is no asset {asset_id}.", remedy="List those of a document first.")
    async with bench.db.read() as conn:
        asset = await assets.get_asset(conn, asset_id)
        try:
            document = await require_document(conn, who, asset.document_id if asset else "")
        except NotFound:
            raise missing from None
    if asset is None or asset.generation != document.live_generation:
        raise missing
    return asset, document


async def _begin(bench: Workbench, sha256: str) -> AsyncGenerator[bytes, None]:
    """The bytes under a key; what is missing is noticed here, before anything has been given out."""
    pieces = aiter(bench.blobs.stream(sha256))
    first = await anext(pieces, b"")

    async def all_pieces() -> AsyncGenerator[bytes, None]:
        yield first
        async for piece in pieces:
            yield piece

    return all_pieces()
