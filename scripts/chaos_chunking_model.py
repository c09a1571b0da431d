"""The model of a chunking storm: scripted, slow on purpose, and it counts. Does nothing when run."""

import hashlib
import json
import random
from collections import Counter

from kosmos.doubles.model_server import Reply, ToolCall
from kosmos.doubles.pointing import lie, point_well, see
from kosmos.doubles.requests import Body

FALSE_EVERY = 6  # of so many questions the answer to one cannot be filed


class Model:
    """The same question always gets the same answer, so that runs can be compared."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.asked: Counter[str] = Counter()

    def decide(self, body: Body) -> Reply:
        """The script of a model server."""
        digest = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()
        self.asked[digest] += 1
        chance = random.Random(digest)  # noqa: S311  (repeatable on purpose)
        manner = lie if chance.randrange(FALSE_EVERY) == 0 else point_well
        calls = manner(see(str(body["messages"][1]["content"])), chance)
        told = tuple(ToolCall(name, dict(said)) for name, said in calls if said is not None)
        return Reply(tool_calls=told, delay=self._seconds * chance.uniform(0.5, 1.5))

    @property
    def repeated(self) -> int:
        """How many questions were asked again."""
        return self.asked.total() - len(self.asked)


def make_text(number: int, parts: int) -> str:
    """A document of some batches that has nothing in common with others."""
    chance = random.Random(number)  # noqa: S311  (repeatable on purpose)
    words = ("pump", "valve", "motor", "pressure", "reset", "水泵", "阀门", "压力", "重启", "每天检查。")
    lines = [f"# Manual {number}"]
    for part in range(parts):
        lines += ["", f"## Part {number}.{part}"]
        for _ in range(chance.randint(2, 6)):
            said = " ".join(chance.choices(words, k=chance.randint(40, 90)))
            lines += ["", f"In document {number} the {said}."]
    return "\n".join(lines)
