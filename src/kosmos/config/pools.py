"""Connections to PostgreSQL, as the tables and the index keep them."""

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

RESTED_SECONDS = 1.0  # a connection that rested longer is tried before it is used
_SINCE = "kosmos rests since"


def postgres_engine(url: sa.URL, *, size: int, more: int) -> AsyncEngine:
    """An engine whose pool tries connections that have rested.

    Trying every one would double the round trips of a busy server. A database that has just gone away is
    noticed by the first query then; all connections are made anew after it.
    """
    engine = create_async_engine(url, pool_size=size, max_overflow=more)
    dialect = engine.sync_engine.dialect

    def on_checkin(_raw: Any, record: Any) -> None:
        record.info[_SINCE] = time.monotonic()

    def on_checkout(raw: Any, record: Any, _proxy: Any) -> None:
        since = record.info.get(_SINCE)
        if since is not None and time.monotonic() - since > RESTED_SECONDS:
            _try(dialect, raw)

    sa.event.listen(engine.sync_engine, "checkin", on_checkin)
    sa.event.listen(engine.sync_engine, "checkout", on_checkout)
    return engine


def _try(dialect: sa.Dialect, raw: Any) -> None:
    """DisconnectionError, for which the pool makes another connection, when this one is broken."""
    try:
        dialect.do_ping(raw)
    except dialect.loaded_dbapi.Error as error:
        raise sa.exc.DisconnectionError from error
