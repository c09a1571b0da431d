"""One file through the module of its format, in whatever process this runs."""

import importlib

from kosmos.domain.documents import Canonical
from kosmos.domain.extracts import Extract
from kosmos.domain.hints import Hints
from kosmos.errors import ConversionFailed, TooLarge
from kosmos.ingest.canonical import canonical_of
from kosmos.ingest.limits import MB, Limits


def extract_canonical(
    kind: str, data: bytes, name: str, *, limits: Limits, hints: Hints | None = None
) -> tuple[Canonical, Extract]:
    """The canonical text of a file of a known kind, and all that its converter found."""
    try:
        module = importlib.import_module(f"kosmos.ingest.formats.{kind}")
        extract = module.extract(data, name, hints=hints) if kind == "html" else module.extract(data, name)
    except ImportError as error:
        raise ConversionFailed(
            f"{name} cannot be read: {error.name or 'a library'} is not installed.",
            remedy="Install the extra for its format: `kosmos[office]` or `kosmos[ocr]`.",
        ) from error
    check_size(name, len(extract.markdown), limits)
    version = getattr(module, "CONVERTER_VERSION", 1)
    canonical, settled = canonical_of(extract, name, converter=f"{kind}/{version}")
    check_size(name, len(canonical.text.encode()), limits)
    return canonical, settled


def check_size(name: str, size: int, limits: Limits) -> None:
    """Refuse a text that is larger than allowed."""
    if size > limits.canonical_bytes:
        raise TooLarge(
            f"{name} has {size // MB} MB of text; at most {limits.canonical_bytes // MB} MB are allowed.",
            remedy="Split it into several files.",
        )
