"""Pictures found in files: what kind they are, whether they can be read, and in which form they are kept."""

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kosmos.errors import TooLarge

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 64_000_000
_KEPT = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_READ = (*_KEPT, "BMP", "TIFF", "MPO")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a form every browser shows."""

    data: bytes
    media_type: str
    width: int
    height: int


def open_image(data: bytes, name: str) -> "Image":
    """The image, not decoded yet; TooLarge when its pixels would not fit."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = Image.open(io.BytesIO(data), formats=_READ)
    if image.width * image.height > MAX_PIXELS:
        raise TooLarge(
            f"{name} has {image.width} × {image.height} pixels; at most {MAX_PIXELS:,} are read.",
            remedy="Make it smaller and add it again.",
        )
    return image


def keep_picture(data: bytes, name: str) -> Picture:
    """The picture as it is stored: as it came where browsers show it, else as PNG."""
    image = open_image(data, name)
    media_type = _KEPT.get(image.format or "")
    if media_type is None or image.mode == "CMYK":
        return encode_picture(image)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image.load()
    return Picture(data, media_type, image.width, image.height)


def try_picture(data: bytes) -> Picture | None:
    """The picture as it is stored, or None when it cannot be read: one bad picture spoils no document."""
    try:
        return keep_picture(data, "A picture")
    except Exception:  # noqa: BLE001  (decoders throw anything on damaged bytes)
        return None


def encode_picture(image: "Image") -> Picture:
    """An image as PNG."""
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Picture(buffer.getvalue(), "image/png", image.width, image.height)
