"""Reads prompt files and fills them in; a variable too many or too few is an error, not an empty place."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kosmos.errors import ConfigError

_HEAD = re.compile(r"---\nvariables: \[([a-z_, ]*)\]\n---\n")
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt. `sha256` is recorded with what a model answered, so that one knows what it was asked."""

    name: str
    text: str
    variables: frozenset[str]
    sha256: str

    def render(self, **values: str) -> str:
        """The prompt with its variables filled in; what is filled in is not looked at again."""
        if set(values) != self.variables:
            wrong = ", ".join(sorted(set(values) ^ self.variables))
            raise ConfigError(f"The prompt {self.name} was given other variables than it has: {wrong}.")
        return _PLACE.sub(lambda place: values[place[1]], self.text)


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt of that name."""
    text = (resources.files(__package__) / f"{name}.md").read_text(encoding="utf-8")
    head = _HEAD.match(text)
    if head is None:
        raise ConfigError(f"The prompt {name} does not name its variables.")
    body = text[head.end() :].strip("\n")
    variables = frozenset(part.strip() for part in head[1].split(",") if part.strip())
    if variables != set(_PLACE.findall(body)):
        raise ConfigError(f"The prompt {name} names other variables than it uses.")
    return Prompt(name, body, variables, hashlib.sha256(text.encode()).hexdigest())


def prompt_names() -> list[str]:
    """All prompts there are."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".md") for file in files if file.name.endswith(".md"))
