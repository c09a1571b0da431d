"""Uploads as they come over HTTP: one file as the whole body, or several as parts of a form."""

from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from kosmos.api.multipart import MultipartReader, PartHead
from kosmos.api.requests import widen_body
from kosmos.errors import InvalidInput
from kosmos.tasks.uploading import Inbox, too_large

_FRAMES = 2 << 20  # what the frames around files may take: a hundred of them with long names
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}}
                    },
                }
            },
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


async def receive_files(request: Request, inbox: Inbox, *, filename: str | None, most: int) -> None:
    """Take in the files of a request, at most so many bytes of them."""
    if _declared(request) > most + _FRAMES:
        raise too_large(filename or "The upload", most)
    widen_body(request.scope, most + _FRAMES)
    kind = request.headers.get("content-type", "")
    try:
        if kind.lower().startswith("multipart/"):
            await _receive_parts(request, inbox, MultipartReader(kind))
        else:
            await _receive_one(request, inbox, filename)
        await inbox.finish()
    except ClientDisconnect:
        raise InvalidInput("The upload was broken off.", remedy="Send it again.") from None


async def _receive_parts(request: Request, inbox: Inbox, reader: MultipartReader) -> None:
    async for piece in request.stream():
        for item in reader.feed(piece):
            if isinstance(item, bytes):
                await inbox.write(item)
            else:
                await inbox.begin(_name_of(item))
    reader.finish()


def _name_of(head: PartHead) -> str:
    if head.filename is None:
        raise InvalidInput(
            f"The field {head.field[:100]!r} is no file.", remedy="Send files only, each with its name."
        )
    return head.filename


async def _receive_one(request: Request, inbox: Inbox, filename: str | None) -> None:
    if filename is None:
        raise InvalidInput(
            "The body is a file without a name.",
            remedy="Add ?filename=notes.md, or send a form: multipart/form-data.",
        )
    await inbox.begin(filename)
    async for piece in request.stream():
        await inbox.write(piece)


def _declared(request: Request) -> int:
    """How long the body is said to be; a server has refused what is no number already."""
    length = request.headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdecimal() and len(length) < 19 else 0
