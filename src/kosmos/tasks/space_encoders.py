"""Which encoder a space has. Vectors of two encoders never mix, whatever the settings say meanwhile."""

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import space_encoders as table
from kosmos.domain.spaces import SpaceEncoder
from kosmos.encoders.catalog import NONE
from kosmos.encoders.contract import Encoder
from kosmos.errors import ConfigError, InvalidInput
from kosmos.tasks.workbench import Workbench

MAX_SETTING = 200


async def encoder_of(bench: Workbench, chosen: SpaceEncoder | None) -> Encoder | None:
    """The encoder whose vectors a space has; ConfigError when it is not to be had any more."""
    if chosen is None or (bench.encoder is not None and chosen.name == bench.encoder.name):
        return bench.encoder
    encoder = await bench.encoders.get(chosen.setting)
    if encoder is not None and encoder.name != chosen.name:
        raise ConfigError(
            f"The vectors of the space were made by {chosen.name}; {chosen.setting} is {encoder.name} now.",
            remedy=f"Make them anew: kosmos reindex --encoder {chosen.setting}",
        )
    return encoder


async def claim_encoder(bench: Workbench, space_id: str) -> Encoder | None:
    """The encoder of a space; one that has none yet gets that of the instance, for good."""
    async with bench.db.read() as conn:
        chosen = await table.get_encoder(conn, space_id)
    if chosen is None and bench.encoder is not None:
        wanted = SpaceEncoder(bench.encoder.name, bench.encoder_setting)
        async with bench.db.write() as conn:
            chosen = await table.claim_encoder(conn, space_id, wanted, bench.clock())
    return await encoder_of(bench, chosen)


async def wants_vectors(bench: Workbench, conn: AsyncConnection, space_id: str) -> bool:
    """Whether the rows of a space shall have dense vectors."""
    chosen = await table.get_encoder(conn, space_id)
    return bench.encoder is not None if chosen is None else chosen.setting != NONE


async def encoders_of(
    bench: Workbench, chosen: Mapping[str, SpaceEncoder], space_ids: list[str], warnings: list[str]
) -> list[Encoder | None]:
    """The encoders of spaces; one that cannot be had leaves the sparse routes and a warning."""
    found: list[Encoder | None] = []
    for space_id in space_ids:
        try:
            found.append(await encoder_of(bench, chosen.get(space_id)))
        except ConfigError as error:
            found.append(None)
            warnings.append(f"Searched by words only: {error.message} {error.remedy or ''}".strip())
    return found


def check_encoder(setting: object) -> str:
    """A setting that anybody may give: a folder must have been named by whoever runs the instance."""
    if not isinstance(setting, str) or not setting.strip() or len(setting) > MAX_SETTING:
        raise InvalidInput(
            "No encoder is named.", remedy="Give builtin, none, or a name of kosmos models list."
        )
    if "/" in setting or setting.startswith("~"):
        remedy = "Name the folder first: kosmos models add NAME FOLDER"
        raise InvalidInput("The encoder of a space is given by name.", remedy=remedy)
    return setting
