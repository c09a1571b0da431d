"""Where something is moved to: the settings that name the new engines."""

from pathlib import Path

from kosmos.config import Settings
from kosmos.errors import InvalidInput


def target_settings(
    settings: Settings, to: str, *, index_url: str | None = None, blobs: str | None = None
) -> Settings:
    """The settings after a move. A URL names new tables, and the rest stays unless it is named as well;
    a folder is a home with everything in it."""
    if "://" in to:
        changes: dict[str, object] = {
            "database_url": to,
            "index_url": index_url or settings.index,
            "blobs_url": blobs or settings.blobs,
        }
    else:
        home = Path(to).expanduser().absolute()
        changes = {"home": home, "database_url": None, "index_url": index_url, "blobs_url": blobs}
    target = Settings.model_validate({**settings.model_dump(), **changes})
    if target.database == settings.database:
        raise InvalidInput("That is where everything is already.", remedy="Name another database or home.")
    return target
