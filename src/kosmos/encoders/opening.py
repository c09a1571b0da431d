"""Opens the encoder that a setting names: built in, a folder, a named folder, or a credential."""

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kosmos.db import Database
from kosmos.db import credentials as rows
from kosmos.db.embeddings import known_dimension
from kosmos.domain.credentials import CredentialType
from kosmos.encoders.catalog import BUILTIN, NONE, Entry, find_model
from kosmos.encoders.contract import Encoder
from kosmos.encoders.endpoint import EndpointEncoder, endpoint_name
from kosmos.encoders.folder import open_folder
from kosmos.encoders.folder_card import read_folder
from kosmos.encoders.local import Card, LocalEncoder
from kosmos.encoders.minilm import NAME, SHAPE, load_minilm
from kosmos.encoders.weights import REMEDY, find_weights
from kosmos.errors import ConfigError, NotFound
from kosmos.llm.secrets import SecretBox

MOST_THREADS = 4


@dataclass(frozen=True, slots=True)
class Quarters:
    """Where models live and what they may use. No threads given: as many as there are cores, at most four."""

    models: Path
    cache: Path
    threads: int = 0
    seconds: float = 60.0


async def open_encoder(name: str, quarters: Quarters, *, db: Database, box: SecretBox) -> Encoder | None:
    """The encoder of that name; None for `none`; ConfigError when there is none such, or it lacks something.

    A name with a slash is the path of a folder.
    """
    if name == NONE:
        return None
    if name == BUILTIN:
        return open_builtin(quarters)
    return await asyncio.to_thread(_open_named, name, quarters) or await _open_credential(
        name, quarters, db=db, box=box
    )


def _open_named(name: str, quarters: Quarters) -> LocalEncoder | None:
    try:
        path = Path(name).expanduser() if "/" in name or name.startswith("~") else None
        entry = Entry(name, path) if path is not None else find_model(quarters.models, name)
    except NotFound:
        return None
    return open_folder(read_folder(entry.folder, entry.choices), threads=threads_of(quarters))


def open_builtin(quarters: Quarters, *, chinese: bool = True) -> LocalEncoder:
    """The built-in encoder."""
    folder = find_weights(quarters.models)
    if folder is None:
        raise ConfigError("The weights of the built-in encoder are not installed.", remedy=REMEDY)
    load = partial(load_minilm, folder, cache=quarters.cache, chinese=chinese)
    return LocalEncoder(Card(NAME, SHAPE.width), load, threads=threads_of(quarters))


def threads_of(quarters: Quarters) -> int:
    """How many threads a model gets: those it is given, and never more than there are cores for."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cores, quarters.threads or MOST_THREADS)


async def _open_credential(name: str, quarters: Quarters, *, db: Database, box: SecretBox) -> Encoder:
    async with db.read() as conn:
        found = await rows.instance_credential(conn, name, CredentialType.EMBEDDING)
        if found is None:
            raise _unknown(name)
        sealed = await rows.get_encrypted_key(conn, found.id)
        dimension = await known_dimension(conn, endpoint_name(found))
    key = box.open(sealed) if sealed else None
    return EndpointEncoder(found, key, seconds=quarters.seconds, dimension=dimension)


def _unknown(name: str) -> ConfigError:
    add = f"kosmos credentials add {name} --type EMBEDDING --base-url URL --model MODEL --instance"
    return ConfigError(
        f"There is no encoder {name!r}: no model folder and no EMBEDDING credential is called so.",
        remedy=f"Use {BUILTIN}, {NONE}, a name of `kosmos models list` or the path of a folder; or: {add}",
    )
