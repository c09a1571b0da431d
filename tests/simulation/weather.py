"""Faults of the database: errors before, at and after what they are about; crashes and freezes there."""

import asyncio
import random
import sqlite3
from collections.abc import Callable

from .clockwork import NODE, Life, Node
from .scenario import Scenario


class Weather:
    """Strikes at random until it is calm. Users have faults too, but do not crash or freeze."""

    def __init__(
        self,
        rng: random.Random,
        scenario: Scenario,
        *,
        crash: Callable[[Node], None],
        freeze: Callable[[Node], None],
        note: Callable[..., None],
    ) -> None:
        self.calm = False
        self._rng = rng
        self._scenario = scenario
        self._crash = crash
        self._freeze = freeze
        self._note = note

    async def before(self, node: Node, statement: str) -> None:
        """A statement, or COMMIT, is about to run."""
        await self._dawdle()
        self.at_once_before(node, statement)
        await self._stand_still(node)

    async def after_commit(self, node: Node) -> None:
        """COMMIT has been done, but its caller does not know yet; it may also be cancelled here."""
        await self._dawdle()
        self.at_once_after_commit(node)
        await self._stand_still(node)

    def at_once_before(self, node: Node, statement: str) -> None:
        """The same for somebody who cannot wait."""
        if self.calm:
            return
        if statement == "COMMIT":
            self._strike(node, "before COMMIT")
        elif self._rng.random() < self._scenario.fault_rate:
            self._note(node.name, "fault at", " ".join(statement.split())[:24])
            raise sqlite3.OperationalError("unable to open database file")

    def at_once_after_commit(self, node: Node) -> None:
        """The same for somebody who cannot wait."""
        if not self.calm:
            self._strike(node, "after COMMIT")

    async def _dawdle(self) -> None:
        if self._rng.random() < self._scenario.delay_rate:
            await asyncio.sleep(self._rng.random() * 0.05)

    async def _stand_still(self, node: Node) -> None:
        if node.life is not Life.ALIVE:
            await asyncio.sleep(0)  # for ever, or until it thaws

    def _strike(self, node: Node, where: str) -> None:
        dice, scenario = self._rng.random(), self._scenario
        mortal = NODE.get() is node
        if mortal and dice < scenario.crash_rate:
            self._note(node.name, "dies", where)
            self._crash(node)
        elif mortal and dice < scenario.crash_rate * 1.5:
            self._note(node.name, "freezes", where)
            self._freeze(node)
        elif dice > 1.0 - scenario.commit_fault_rate:
            self._note(node.name, "fault", where)
            raise sqlite3.OperationalError("disk I/O error")
