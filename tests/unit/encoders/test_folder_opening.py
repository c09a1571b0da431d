"""Model folders by their paths and by their names."""

from pathlib import Path

from kosmos.db import Database
from kosmos.encoders.catalog import Entry, add_model
from kosmos.encoders.opening import Quarters, open_encoder
from kosmos.encoders.trial import try_encoder
from kosmos.llm.secrets import passing_box

from .tiny_models import make_bert


async def test_folders_by_path_and_by_name(tmp_path: Path) -> None:
    quarters, box = Quarters(tmp_path / "models", tmp_path / "cache"), passing_box()
    db = Database(f"sqlite:///{tmp_path}/kosmos.db")
    folder = make_bert(tmp_path / "bert")
    add_model(quarters.models, Entry("mine", folder))
    by_path = await open_encoder(str(folder), quarters, db=db, box=box)
    by_name = await open_encoder("mine", quarters, db=db, box=box)
    assert by_path is not None
    assert by_name is not None
    assert by_path.name == by_name.name
    assert (await try_encoder(by_name)).dimension == 8
    await by_path.close()
    await by_name.close()
    await db.close()
