"""How a space is searched: the parameters of fusion, evidence and walk, as its settings give them.

They stand under `retrieval` in the settings of a space: `{"retrieval": {"fusion": "rrf", "rrf_k": 60}}`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from kosmos.errors import InvalidInput
from kosmos.retrieval.routes import ROUTES, SUMMARY_DENSE, TEXT_DENSE, TEXT_SPARSE, TITLE_SPARSE

WEIGHTED = "weighted"
RRF = "rrf"
FUSIONS = (WEIGHTED, RRF)
MAX_WEIGHT = 100.0
MAX_DEPTH = 1000
KEY = "retrieval"

Weights = Mapping[str, float]

SAME_LANGUAGE: Weights = {TEXT_DENSE: 1.0, SUMMARY_DENSE: 0.2, TEXT_SPARSE: 1.0, TITLE_SPARSE: 0.1}
OTHER_LANGUAGE: Weights = {TEXT_DENSE: 1.0, SUMMARY_DENSE: 0.1, TEXT_SPARSE: 0.3, TITLE_SPARSE: 0.05}


@dataclass(frozen=True, slots=True)
class Walk:
    """How far the graph walk goes from its anchors."""

    parent_decay_threshold: float = 0.75
    absolute_min_similarity: float = 0.2
    link_proportion: float = 0.5
    max_link_top_k: int = 10


@dataclass(frozen=True, slots=True)
class Tuning:
    """Parameters of a search.

    `depth` is how many results of a route are looked at, and over how many its scores are spread.
    `same` and `other` weigh the routes where question and text share a language and where they do not.
    `document` is how much the other chunks of a document count for one of them, `links` how much the
    documents that link to it do.
    """

    fusion: str = WEIGHTED
    rrf_k: float = 60.0
    same: Weights = field(default_factory=lambda: dict(SAME_LANGUAGE))
    other: Weights = field(default_factory=lambda: dict(OTHER_LANGUAGE))
    depth: int = 200
    document: float = 0.3
    links: float = 0.2
    feedback: bool = False
    rerank: str = "none"
    rerank_depth: int = 30
    walk: Walk = field(default_factory=Walk)

    def weigh(self, route: str, *, same_language: bool) -> float:
        """The weight of a route for a text."""
        return (self.same if same_language else self.other).get(route, 0.0)

    @property
    def scale(self) -> float:
        """What sums are divided by, so that a text that is first everywhere in its language has 1."""
        total = sum(self.same.values())
        return (total / (self.rrf_k + 1) if self.fusion == RRF else total) or 1.0

    def with_routes(self, weights: Weights) -> "Tuning":
        """The same with other weights for some routes; 0 switches one off."""
        check_weights(weights)
        return replace(self, same={**self.same, **weights}, other={**self.other, **weights})

    def without(self, routes: tuple[str, ...]) -> "Tuning":
        """The same with some routes switched off."""
        return self.with_routes(dict.fromkeys(routes, 0.0))

    def as_settings(self) -> dict[str, Any]:
        """What to store so that `read_tuning` gives this again."""
        return asdict(self)


def read_tuning(settings: Mapping[str, Any]) -> Tuning:
    """The tuning that the settings of a space ask for; InvalidInput when it cannot be understood."""
    given = settings.get(KEY, {})
    if not isinstance(given, Mapping):
        raise _refuse("is no object")
    known = {item.name for item in fields(Tuning)}
    if unknown := sorted(set(given) - known):
        raise _refuse(f"holds the unknown key {unknown[0]!r}; there are {', '.join(sorted(known))}")
    values = dict(given)
    plain = Tuning()
    for name in ("same", "other"):
        if name in values:
            check_weights(values[name])
            values[name] = {**getattr(plain, name), **values[name]}
    if "walk" in values:
        values["walk"] = _read_walk(values["walk"])
    for name in values.keys() - {"same", "other", "walk"}:
        _check_value(name, values[name], getattr(plain, name))
    return replace(plain, **values)


def check_weights(weights: object) -> None:
    """Refuse weights that are no numbers from 0 to 100, or of unknown routes."""
    if not isinstance(weights, Mapping):
        raise _refuse("has weights that are no object")
    for route, weight in weights.items():
        if route not in ROUTES:
            raise InvalidInput(f"There is no route {route!r}.", remedy=f"The routes are {', '.join(ROUTES)}.")
        if not _number(weight) or not 0 <= weight <= MAX_WEIGHT:
            raise InvalidInput(
                f"The weight of {route} must be a number from 0 to {MAX_WEIGHT:.0f}.",
                remedy="0 switches a route off, 1 is the usual weight.",
            )


_BOUNDS: Mapping[str, tuple[float, float]] = {
    "rrf_k": (1, 10_000),
    "depth": (1, MAX_DEPTH),
    "document": (0, 10),
    "links": (0, 10),
    "rerank_depth": (1, 200),
    "parent_decay_threshold": (0, 10),
    "absolute_min_similarity": (0, 1),
    "link_proportion": (0, 1),
    "max_link_top_k": (0, 100),
}


def _read_walk(given: object) -> Walk:
    if not isinstance(given, Mapping) or set(given) - {item.name for item in fields(Walk)}:
        raise _refuse("has a walk that is no object of known keys")
    for name, value in given.items():
        _check_value(name, value, getattr(Walk(), name))
    return Walk(**given)


def _check_value(name: str, value: object, usual: object) -> None:
    if name == "fusion":
        if value not in FUSIONS:
            raise _refuse(f"has the fusion {value!r}; there are {' and '.join(FUSIONS)}")
    elif isinstance(usual, bool | str):
        if type(value) is not type(usual):
            raise _refuse(f"needs {name} to be like {usual!r}")
    else:
        low, high = _BOUNDS[name]
        whole = isinstance(usual, int)
        if not _number(value) or not low <= value <= high or (whole and not isinstance(value, int)):  # type: ignore[operator]
            raise _refuse(f"needs {name} to be a number from {low:g} to {high:g}")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse(what: str) -> InvalidInput:
    return InvalidInput(
        f"The setting `{KEY}` of the space {what}.",
        remedy='Change the settings of the space, as {"retrieval": {"fusion": "weighted"}}.',
    )
