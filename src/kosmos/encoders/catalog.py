"""Model folders that were given a name: one small file each in the folder of models."""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from kosmos.encoders.bert_graph import Pooling
from kosmos.encoders.folder_card import NO_CHOICES, Choices, read_folder
from kosmos.errors import ConfigError, InvalidInput, NotFound

BUILTIN, NONE = "builtin", "none"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A named model folder."""

    name: str
    folder: Path
    choices: Choices = NO_CHOICES


def add_model(models: Path, entry: Entry) -> Entry:
    """Give a model folder a name, once its files have been looked at."""
    if not _NAME.fullmatch(entry.name) or entry.name.lower() in (BUILTIN, NONE):
        raise InvalidInput(
            f"{entry.name!r} cannot be the name of a model.",
            remedy="Use letters, digits, dots, dashes and underscores.",
        )
    whole = Entry(entry.name, entry.folder.expanduser().absolute(), entry.choices)
    read_folder(whole.folder, whole.choices)
    told = {key: value for key, value in asdict(whole.choices).items() if value is not None}
    models.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = models / f".{entry.name}.{os.getpid()}.{os.urandom(4).hex()}"
    temporary.write_text(json.dumps({"folder": str(whole.folder), **told}, ensure_ascii=False), "utf-8")
    temporary.replace(_file(models, entry.name))
    return whole


def list_models(models: Path) -> list[Entry]:
    """All named model folders, by name; files that cannot be read are left out."""
    found = []
    for file in sorted(models.glob("*.json")):
        try:
            found.append(find_model(models, file.stem))
        except (ConfigError, NotFound):
            continue
    return found


def find_model(models: Path, name: str) -> Entry:
    """The model folder of that name."""
    try:
        told = json.loads(_file(models, name).read_text(encoding="utf-8"))
        pooling = told.pop("pooling", None)
        folder = Path(told.pop("folder"))
        return Entry(name, folder, Choices(pooling=Pooling(pooling) if pooling else None, **told))
    except FileNotFoundError:
        raise NotFound(f"There is no model {name!r}.", remedy="List them with: kosmos models list") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(
            f"What is kept of the model {name!r} cannot be read.", remedy="Add it again: kosmos models add"
        ) from None


def remove_model(models: Path, name: str) -> None:
    """Forget the name; the folder itself stays."""
    try:
        _file(models, name).unlink()
    except FileNotFoundError:
        raise NotFound(f"There is no model {name!r}.", remedy="List them with: kosmos models list") from None


def _file(models: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise NotFound(f"There is no model {name!r}.", remedy="List them with: kosmos models list")
    return models / f"{name}.json"
