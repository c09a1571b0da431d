"""Runs models by onnxruntime."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kosmos.encoders.bert_graph import INPUT
from kosmos.errors import ConfigError
from kosmos.store.rows import Dense

log = logging.getLogger(__name__)
Run = Callable[[Dense], Dense]  # rows of words, one a token, to the vector of the text


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its kind, such as `tensor(int64)`, and its shape, a number where one is fixed."""

    kind: str
    shape: tuple[int | str | None, ...]


class Session:
    """A model in onnxruntime. One thread runs one text; several threads may do so at once."""

    def __init__(self, model: bytes | Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            given = model if isinstance(model, bytes) else str(model)
            self._session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
        except _refusals() as error:
            what = "The model" if isinstance(model, bytes) else f"The model {model}"
            raise ConfigError(
                f"{what} cannot be opened: {_first_line(error)}.", remedy="Get its files again."
            ) from error

    @property
    def inputs(self) -> dict[str, Port]:
        """What the model wants, by name."""
        return {item.name: Port(item.type, tuple(item.shape)) for item in self._session.get_inputs()}

    @property
    def outputs(self) -> dict[str, Port]:
        """What the model gives, by name."""
        return {item.name: Port(item.type, tuple(item.shape)) for item in self._session.get_outputs()}

    def run(self, given: Mapping[str, Any], wanted: Sequence[str] | None = None) -> list[Any]:
        """Run it once."""
        try:
            found: list[Any] = self._session.run(wanted, dict(given))
        except _refusals() as error:
            raise ConfigError(
                f"The model cannot be run: {_first_line(error)}.", remedy="It does not fit; use another one."
            ) from error
        return found


def _refusals() -> tuple[type[Exception], ...]:
    """What onnxruntime raises: a dozen kinds that have no parent in common."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (*own, RuntimeError, ValueError, TypeError)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:300]


def run_graph(model: bytes) -> Run:
    """Runs a graph that was made by `bert_model`."""
    session = Session(model)

    def run(rows: Dense) -> Dense:
        vector: Dense = session.run({INPUT: rows[None]})[0][0]
        return vector

    return run


def has_onnxruntime() -> bool:
    """Whether it is there and can be loaded."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        log.warning("onnxruntime is missing, so encoding is several times slower: %s", error)
        return False
    return True
