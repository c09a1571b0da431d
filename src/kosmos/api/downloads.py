"""Stored files as HTTP answers that no browser will run."""

from typing import Any
from urllib.parse import quote

from fastapi.responses import StreamingResponse

from kosmos.tasks.downloading import Download

# Pictures made of dots. Everything else leaves as mere bytes: an SVG or a page could hold a script.
_SHOWN = {f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "bmp", "tiff")}
_MERE = "application/octet-stream"
_BINARY = {"schema": {"type": "string", "format": "binary"}}
BYTES: dict[int | str, dict[str, Any]] = {200: {"description": "The bytes", "content": {_MERE: _BINARY}}}
# A figure leaves as what it is, where that cannot run.
FIGURE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes", "content": dict.fromkeys((*sorted(_SHOWN), _MERE), _BINARY)}
}


def give_out(download: Download) -> StreamingResponse:
    """A file to be kept, not to be shown: its type is not guessed and nothing in it may run."""
    headers = {
        "Content-Length": str(download.size),
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(download.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, no-store",
    }
    kind = download.media_type if download.media_type in _SHOWN else _MERE
    return StreamingResponse(download.pieces, headers=headers, media_type=kind)
