"""Kosmos turns documents into knowledge that agents can rely on."""

import importlib
from typing import Any

__version__ = "0.1.0"
_LATER = {
    "KnowledgeBase": "kosmos.building",
    "build_knowledge_base": "kosmos.building",
    "build_react_agent": "kosmos.agents.react.building",
}


def __getattr__(name: str) -> Any:
    """What takes long to import is imported when it is asked for."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
