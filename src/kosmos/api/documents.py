"""Routes: documents, what they were made of and what they consist of."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.document_shapes import (
    AddedOut,
    AddressIn,
    AssetOut,
    ChunkOut,
    OverviewOut,
    RefusedOut,
    UploadedOut,
)
from kosmos.api.downloads import BYTES, FIGURE, give_out
from kosmos.api.problems import AWAY
from kosmos.api.shapes import DocumentOut, Page
from kosmos.api.uploads import BODY, receive_files
from kosmos.tasks import documents, downloading, fetching, overview, uploading

router = APIRouter(tags=["documents"])
Filename = Annotated[
    str | None, Query(description="Name of the file, when it is the whole body.", examples=["notes.md"])
]

Producer = Annotated[
    Literal["structure", "indexer"] | None,
    Query(description="Who finds the chunks. Default: the setting `chunking.producer` of the space."),
]
Verbatim = Annotated[bool, Query(description="Also what is hidden. Owners only.")]


@router.get("/spaces/{space_id}/documents")
async def list_documents(
    app: TheApp, who: Caller, space_id: Id, after: After = "", limit: Limit = 100
) -> Page[DocumentOut]:
    """The documents of a space."""
    found = await documents.list_documents(app.bench, who, space_id, after=after, limit=limit)
    return Page(
        items=[DocumentOut.model_validate(item) for item in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.post("/spaces/{space_id}/documents", status_code=201, openapi_extra=BODY)
async def upload_documents(
    app: TheApp,
    who: Caller,
    space_id: Id,
    request: Request,
    filename: Filename = None,
    producer: Producer = None,
) -> UploadedOut:
    """Add files: a form with one part for each, or one file as the body with `?filename=`. Editors only.

    A file with the name of one that was uploaded before is its new version. Jobs do the work: follow the
    last one of a document to see it become READY. All files of a request together are limited by
    KOSMOS_MAX_FILE_BYTES.
    """
    await uploading.check_upload(app.bench, who, space_id, producer=producer)
    most = app.settings.max_file_bytes
    with uploading.open_inbox(app.settings.home, most) as inbox:
        await receive_files(request, inbox, filename=filename, most=most)
        done = await uploading.add_arrivals(app.bench, who, space_id, inbox.arrivals, producer=producer)
    return UploadedOut(
        added=[AddedOut.of(item) for item in done.added],
        refused=[RefusedOut.model_validate(item) for item in done.refused],
    )


@router.post("/spaces/{space_id}/addresses", status_code=201, responses=AWAY)
async def add_address(app: TheApp, who: Caller, space_id: Id, form: AddressIn) -> AddedOut:
    """Fetch a page or file of the web and add it. Editors only."""
    return AddedOut.of(await fetching.add_url(app.bench, who, space_id, form.url, producer=form.producer))


@router.get("/documents/{document_id}")
async def get_document(app: TheApp, who: Caller, document_id: Id) -> DocumentOut:
    """One document."""
    return DocumentOut.model_validate(await documents.get_document(app.bench, who, document_id))


@router.delete("/documents/{document_id}", status_code=204)
async def remove_document(app: TheApp, who: Caller, document_id: Id) -> None:
    """Remove a document with its chunks, index rows and unshared blobs. Editors only."""
    await documents.remove_document(app.bench, who, document_id)


@router.get("/documents/{document_id}/overview")
async def view_document(app: TheApp, who: Caller, document_id: Id) -> OverviewOut:
    """One document with its converter, notes, assets, number of chunks, jobs and cost so far."""
    return OverviewOut.of(await overview.view_document(app.bench, who, document_id))


@router.get("/documents/{document_id}/original", response_class=StreamingResponse, responses=BYTES)
async def get_original(app: TheApp, who: Caller, document_id: Id) -> StreamingResponse:
    """The file that the document was made of."""
    return give_out(await downloading.open_original(app.bench, who, document_id))


@router.get("/documents/{document_id}/assets")
async def list_assets(app: TheApp, who: Caller, document_id: Id) -> Page[AssetOut]:
    """The figures of a document, in the order of its text."""
    found = await downloading.list_assets(app.bench, who, document_id)
    return Page(items=[AssetOut.model_validate(item) for item in found])


@router.get("/assets/{asset_id}", response_class=StreamingResponse, responses=FIGURE)
async def get_asset(app: TheApp, who: Caller, asset_id: Id) -> StreamingResponse:
    """The bytes of a figure."""
    return give_out(await downloading.open_asset(app.bench, who, asset_id))


@router.get("/documents/{document_id}/chunks")
async def list_chunks(
    app: TheApp,
    who: Caller,
    document_id: Id,
    after: Annotated[int, Query(ge=-1, le=2**31 - 1, description="Position of the last one seen.")] = -1,
    limit: Limit = 100,
    verbatim: Verbatim = False,
) -> Page[ChunkOut]:
    """The chunks of a document in the order of its text: a tree, each below its `parent_id`."""
    found = await overview.list_chunks(
        app.bench, who, document_id, after=after, limit=limit, verbatim=verbatim
    )
    return Page(
        items=[ChunkOut.of(item) for item in found],
        next=str(found[-1].position) if len(found) == limit else None,
    )
