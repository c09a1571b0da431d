"""Brief transactions on SQLite: a few small statements, run at once in the thread of the caller.

SQLAlchemy's machinery costs several times what SQLite takes for a small statement. Statements marked as
`hot` are translated once, by SQLAlchemy, and then go straight to SQLite. All others take the usual way, in
the same transaction.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Dialect, IteratorResult
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from kosmos.db.sqlite import Connection

Process = Callable[[Any], Any]
S = TypeVar("S", bound=sa.Executable)

_BEGIN = "BEGIN IMMEDIATE"
_LOOK = "SELECT 1 FROM sqlite_master LIMIT 1"
_HOT: dict[int, "Translations"] = {}


def hot(statement: S) -> S:
    """Mark a statement that lives as long as the program and runs often.

    Its parameters are given as one mapping, or as a list of them; lists inside hold plain values.
    """
    _HOT[id(statement)] = Translations(statement)
    return statement


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value goes that is known only when the statement runs: a parameter, or a part of a list."""

    name: str
    index: int | None = None
    part: int | None = None

    def pick(self, given: Mapping[str, Any]) -> Any:
        """The value."""
        value = given[self.name]
        if self.index is not None:
            value = value[self.index]
        return value if self.part is None else value[self.part]


@dataclass(frozen=True, slots=True)
class Translation:
    """A statement in the words of SQLite, for lists of certain lengths."""

    sql: str
    pick: Callable[[Mapping[str, Any]], Sequence[Any]]  # the parameters in the order of the statement
    makers: Sequence[tuple[int, Process]]  # which of them must be made database values, and how
    columns: SimpleResultMetaData
    readers: Sequence[tuple[int, Process]]  # which of the columns must be made values of ours, and how

    def bind(self, given: Mapping[str, Any]) -> Sequence[Any]:
        """What SQLite gets."""
        return _processed(self.pick(given), self.makers)

    def read(self, row: Sequence[Any]) -> Sequence[Any]:
        """What SQLite found."""
        return tuple(_processed(row, self.readers))


def _processed(values: Sequence[Any], processes: Sequence[tuple[int, Process]]) -> Sequence[Any]:
    if not processes:
        return values
    changed = list(values)
    for index, process in processes:
        changed[index] = process(changed[index])
    return changed


class Found(IteratorResult[Any]):
    """What a hot statement found."""

    def __init__(self, columns: SimpleResultMetaData, rows: Iterable[Any], rowcount: int) -> None:
        super().__init__(columns, iter(rows))
        self.rowcount = rowcount


class Translations:
    """A hot statement, translated once for all lists of the same lengths."""

    def __init__(self, statement: Any) -> None:
        self._statement = statement
        self._known: dict[tuple[int, ...], Translation] = {}
        self._lists: Sequence[str] | None = None

    def get(self, given: Mapping[str, Any], dialect: Dialect) -> Translation:
        """The translation for these parameters."""
        if self._lists is None:
            binds = self._statement.compile(dialect=dialect).binds
            self._lists = [name for name in given if name in binds and binds[name].expanding]
        shape = tuple([len(given[name]) for name in self._lists])
        if shape not in self._known:
            self._known[shape] = _translate(self._statement, given, self._lists, dialect)
        return self._known[shape]


def _translate(
    statement: Any, given: Mapping[str, Any], lists: Sequence[str], dialect: Dialect
) -> Translation:
    compiled = statement.compile(dialect=dialect)
    state = compiled.construct_expanded_state({**compiled.params, **_slots(given, lists)})
    order = list(state.positiontup or ())
    types = [compiled.binds[name].type if name in compiled.binds else sa.types.NullType() for name in order]
    columns = list(statement.exported_columns)
    return Translation(
        sql=state.statement,
        pick=_picker([state.parameters[name] for name in order]),
        makers=_those([kind.dialect_impl(dialect).bind_processor(dialect) for kind in types]),
        columns=SimpleResultMetaData([column.name for column in columns]),
        readers=_those(
            [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
        ),
    )


def _those(processes: Sequence[Process | None]) -> list[tuple[int, Process]]:
    return [(index, process) for index, process in enumerate(processes) if process is not None]


def _picker(wanted: Sequence[Any]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """What puts parameters in order: constants are there already, slots are filled."""
    names = [slot.name for slot in wanted if isinstance(slot, Slot) and slot.index is None]
    if len(names) == len(wanted) > 1:
        return itemgetter(*names)
    return lambda given: [slot.pick(given) if isinstance(slot, Slot) else slot for slot in wanted]


def _slots(given: Mapping[str, Any], lists: Sequence[str]) -> dict[str, Any]:
    slots: dict[str, Any] = {}
    for name, value in given.items():
        if name not in lists:
            slots[name] = Slot(name)
        elif value and isinstance(value[0], tuple):
            slots[name] = [
                tuple(Slot(name, index, part) for part in range(len(item)))
                for index, item in enumerate(value)
            ]
        else:
            slots[name] = [Slot(name, index) for index in range(len(value))]
    return slots


class BriefConnection(AsyncConnection):
    """A connection kept open for brief transactions, one after the other."""

    _driver: Connection

    @classmethod
    async def open(cls, engine: AsyncEngine) -> "BriefConnection":
        """Connect."""
        conn = cls(engine)
        await conn.start()
        conn._driver = (await conn.get_raw_connection()).driver_connection  # type: ignore[assignment]
        return conn

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Commit when the block ends, roll back when it fails."""
        return self._within(_BEGIN, lambda conn: conn.execute(_BEGIN))

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """See one state of the data until the block ends."""
        return self._within(_LOOK, _look)

    @asynccontextmanager
    async def _within(
        self, sql: str, begin: Callable[[sqlite3.Connection], object]
    ) -> AsyncIterator[AsyncConnection]:
        try:
            await self._driver.run(begin)  # only here others are waited for
        except sqlite3.Error as error:
            await self._driver.rollback()
            raise self._usual(sql, error) from error
        try:
            yield self
            if self.in_transaction():
                await super().commit()
            else:
                self._run("COMMIT", [()])
        except BaseException:
            await super().rollback()
            await self._driver.rollback()
            raise

    async def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Run a statement: a hot one directly, any other in SQLAlchemy's way."""
        translations = _HOT.get(id(statement))
        if translations is None or options or not parameters:
            return await super().execute(statement, parameters, **options)
        many = parameters if isinstance(parameters, list) else [parameters]
        words = translations.get(many[0], self.dialect)
        cursor, rows = self._run(words.sql, [words.bind(given) for given in many])
        return Found(words.columns, [words.read(row) for row in rows], cursor.rowcount)

    def _run(self, sql: str, binds: Sequence[Sequence[Any]]) -> tuple[sqlite3.Cursor, list[Any]]:
        conn = self._driver.direct
        try:
            cursor = conn.execute(sql, binds[0]) if len(binds) == 1 else conn.executemany(sql, binds)
            return cursor, cursor.fetchall() if cursor.description else []
        except sqlite3.Error as error:
            raise self._usual(sql, error) from error

    def _usual(self, sql: str, error: sqlite3.Error) -> BaseException:
        """The error as SQLAlchemy would raise it."""
        return sa.exc.DBAPIError.instance(sql, None, error, sqlite3.Error, dialect=self.dialect)


def _look(conn: sqlite3.Connection) -> None:
    """Begin to read now: only the first look at the data can find it locked."""
    if not conn.in_transaction:
        conn.execute("BEGIN")
    conn.execute(_LOOK).fetchone()
