"""Pictures as documents: each is kept as a figure, and its text is read where OCR is installed."""

from typing import TYPE_CHECKING

from kosmos.domain.extracts import Extract
from kosmos.errors import InvalidInput
from kosmos.ingest.formats import ocr
from kosmos.ingest.formats.composer import Composer
from kosmos.ingest.formats.pictures import encode_picture, keep_picture, open_image
from kosmos.ingest.formats.refusals import SAVE_AGAIN, reading

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PAGES = 200
_ANIMATED = ("GIF", "WEBP", "PNG", "MPO")


def extract(data: bytes, name: str) -> Extract:
    """The picture, or each page of a TIFF, as a figure with its text below."""
    try:
        with reading(name, "picture"):
            return _extract(data, name)
    except InvalidInput as error:
        if error.remedy == SAVE_AGAIN:
            raise InvalidInput(
                f"{name} is damaged or not a picture of a known kind.", remedy=SAVE_AGAIN
            ) from error
        raise


def _extract(data: bytes, name: str) -> Extract:
    image = open_image(data, name)
    composer = Composer()
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format in _ANIMATED:
        composer.note(f"Only the first of {frames} frames was read.")
        frames = 1
    if frames > MAX_PAGES:
        composer.note(f"Pages {MAX_PAGES + 1} to {frames} were left out.")
    for page in range(min(frames, MAX_PAGES)):
        composer.mark("page", page + 1)
        if frames == 1:
            composer.add_figure(keep_picture(data, name), name)
        else:
            image.seek(page)
            composer.add_figure(encode_picture(image), f"{name}, page {page + 1}")
        _add_text(composer, image)
    return composer.finish(metadata={"width": image.width, "height": image.height, "pages": frames})


def _add_text(composer: Composer, image: "Image") -> None:
    from PIL import ImageOps

    if not ocr.is_installed():
        composer.note(f"The text in the picture was not read. {ocr.ADVICE}")
        return
    for block in ocr.read_image(ImageOps.exif_transpose(image)):
        composer.add(block)
