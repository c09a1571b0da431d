"""The tools of one run. Which of them may be called is decided here, at the call, whatever was offered."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.errors import KosmosError
from kosmos.tools.contract import MalformedCall, Tool, ToolOutput

log = logging.getLogger(__name__)


class ToolFailed(Exception):
    """A tool did not do what was asked; the text tells the model why, and nothing else happens."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that may be called, by name."""

    tools: Mapping[str, Tool]

    def schemas(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """What the model is told, of all tools or of some."""
        return [tool.schema for name, tool in self.tools.items() if names is None or name in names]

    def check(self, name: str, arguments: Mapping[str, Any] | None, text: str) -> dict[str, Any]:
        """The arguments of a call that may be made, or MalformedCall."""
        tool = self.tools.get(name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            raise MalformedCall(f"There is no tool {name[:80]!r} for you. Yours: {known}.")
        if arguments is None:
            raise MalformedCall(f"The arguments are no JSON object: {text[:200]!r}")
        return tool.check(arguments)

    async def run(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Call a tool; ToolFailed when it fails or takes too long."""
        tool = self.tools[name]
        try:
            async with asyncio.timeout(tool.seconds):
                return await tool.run(**arguments)
        except TimeoutError:
            raise ToolFailed(f"{name} took longer than {tool.seconds:g} s and was stopped.") from None
        except KosmosError as error:
            raise ToolFailed(f"{error.message} {error.remedy or ''}".strip()) from None
        except Exception:
            log.exception("a tool failed", extra={"tool": name})
            raise ToolFailed(f"{name} failed unexpectedly.") from None


def choose_tools(tools: Iterable[Tool], allowed: Sequence[str] | None) -> Toolbox:
    """Those of the tools that an agent may use; None allows all."""
    return Toolbox({tool.name: tool for tool in tools if allowed is None or tool.name in allowed})
