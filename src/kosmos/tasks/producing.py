"""Who finds the chunks of a document: structure alone, or a model that points at lines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.domain.accounts import Principal
from kosmos.domain.credentials import CredentialType
from kosmos.domain.space_settings import PRODUCERS
from kosmos.errors import InvalidInput, NoCredential
from kosmos.tasks.acting import find_models, lane_of
from kosmos.tasks.showing import settings_of
from kosmos.tasks.workbench import Workbench

INDEXER = "indexer"
WITHOUT = "; or chunk without a model: producer=structure"


@dataclass(frozen=True, slots=True)
class Making:
    """How a version is chunked: the producer, and the lane of the model that it asks."""

    producer: str
    lane: Mapping[str, Any] = field(default_factory=dict)


async def choose_producer(
    bench: Workbench, conn: AsyncConnection, who: Principal, space_id: str, wanted: str | None = None
) -> Making:
    """What is wanted, else what the space wants; NoCredential where that needs a model and there is none."""
    producer = check_producer(wanted or (await settings_of(conn, space_id)).producer)
    if producer != INDEXER:
        return Making(producer)
    kind = CredentialType.SLM
    try:
        found = await find_models(bench, conn, who, kind, space_id=space_id, purpose="The indexer")
    except NoCredential as error:
        raise NoCredential(error.message, remedy=f"{error.remedy}{WITHOUT}") from None
    return Making(producer, lane_of(found[0]))


def check_producer(name: Any) -> str:
    """The name of a producer, or InvalidInput."""
    if not isinstance(name, str) or name not in PRODUCERS:
        shown = str(name)[:40]
        raise InvalidInput(f"There is no producer {shown!r}.", remedy=f"Use one of: {', '.join(PRODUCERS)}.")
    return name
