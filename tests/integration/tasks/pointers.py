"""A scripted provider for the indexer: it answers from the words of the question, and counts."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.accounts.spaces import set_settings
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.doubles.model_server import Reply, ToolCall
from kosmos.doubles.requests import Body
from kosmos.llm.secrets import open_box

from .scene import Scene

_WANTED = re.compile(r"Begin units at ([\d, ]+); \d")
_NUMBERED = re.compile(r"^(\d+)\|(.*)$", re.MULTILINE)


def asked(body: Body) -> str:
    """The batch of a question."""
    return str(body["messages"][1]["content"])


def point(body: Body) -> Reply:
    """What a good model answers: each wanted unit with its first words."""
    text = asked(body)
    wanted = _WANTED.findall(text)[-1]
    lines = dict(_NUMBERED.findall(text))
    units = [
        {"line": int(number), "summary": f"About {lines[number.strip()][:40]}"}
        for number in wanted.split(",")
    ]
    return Reply(tool_calls=(ToolCall("generate_content_summary", {"units": units}),))


@dataclass
class Provider:
    """Answers by a function of the question, remembering how often each was asked."""

    answer: Callable[[Body], Reply] = point
    counts: Counter[str] = field(default_factory=Counter)

    def decide(self, body: Body) -> Reply:
        """The script of a model server."""
        self.counts[json.dumps(body["messages"])] += 1
        return self.answer(body)

    @property
    def calls(self) -> int:
        """How many questions were asked."""
        return self.counts.total()


async def add_model(scene: Scene, url: str, folder: Path, **options: Any) -> Credential:
    """A model that chunking jobs of the scene may use."""
    prices = {"prompt_price": 1.0, "output_price": 4.0, **options}
    new = NewCredential("pointer", CredentialType.SLM, url, "scripted", options=prices, is_default=True)
    async with scene.bench.db.write() as conn:
        box = open_box(None, folder / "key")
        return await add_credential(conn, scene.owner, new, box=box, now=scene.bench.clock())


async def set_space(scene: Scene, changes: dict[str, Any]) -> None:
    """Change settings of the scene's space."""
    async with scene.bench.db.write() as conn:
        await set_settings(conn, scene.owner, scene.space_id, changes=changes, now=scene.bench.clock())
