"""One fuzz run of the API: which cases, in which order, as whom."""

import contextlib
import copy
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core import NotSet

from fuzzing.cases import MODES, Case, Operation, aim, boundary_cases, load
from fuzzing.scene import Scene
from fuzzing.sending import Sender
from fuzzing.tally import Tally

ACTORS = ("anonymous", "stranger", "viewer", "owner")  # who takes away comes last
STEPS = 10  # of a chain, at most
CHAINED = 0.2  # of all cases
BOUNDARY = 0.4  # of all cases, at most
AIMED = 0.75  # of all cases are about things that are there


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to do."""

    cases: int
    seed: int
    actors: tuple[str, ...] = ACTORS
    sockets: bool = True


def fuzz(scene: Scene, plan: Plan, tally: Tally, note: Callable[[], None] = lambda: None) -> None:
    """Send everything as everybody; `note` is called now and then."""
    # Hypothesis takes the seed of a whole run from here, as its plugin for pytest does.
    hypothesis.core.global_force_seed = plan.seed  # type: ignore[assignment]
    schema, operations = load(scene.served.api.openapi())
    schema.config.generation.with_security_parameters = False  # who sends is decided here
    random.Random(plan.seed).shuffle(operations)  # noqa: S311  (a short run takes others with each seed)
    crew = Crew(
        [Sender(scene, scene.actors[name], tally, sockets=plan.sockets) for name in plan.actors], plan.seed
    )
    crew.note = note
    try:
        for sender in crew.senders:
            _send_chains(sender, schema, int(plan.cases * CHAINED / len(crew.senders)))
            note()
        _send_limits(crew, schema, operations, plan)
        _send_generated(crew, operations, plan)
    finally:
        for sender in crew.senders:
            sender.close()


class Crew:
    """Everybody sends each case, with ids of their own choice: making a case costs more than sending it."""

    def __init__(self, senders: Sequence[Sender], seed: int) -> None:
        self.senders = senders
        self.note: Callable[[], None] = lambda: None
        self._chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)

    @property
    def sent(self) -> int:
        """How many cases so far."""
        return sum(sender.sent for sender in self.senders)

    def send(self, case: Case) -> None:
        """One generated case, as everybody."""
        parts = case.path_parameters, case.query, case.body
        aimed = case.method.upper() == case.operation.method.upper() and self._chance.random() < AIMED
        for sender in self.senders:
            case.path_parameters, case.query = dict(parts[0]), copy.copy(parts[1])
            if not isinstance(parts[2], NotSet):
                case.body = copy.deepcopy(parts[2])
            if aimed:
                aim(case, sender.actor, self._chance)
            sender.send(case)

    def mend_after(self, operation: Operation) -> None:
        """Make again what was thrown away."""
        self.note()
        if operation.method.upper() == "DELETE":
            for sender in self.senders:
                sender.scene.mend(sender.actor)

    def tell(self, what: str) -> None:
        """Say how far it is."""
        print(f"{what}: {self.sent} cases", file=sys.stderr, flush=True)


def _send_limits(crew: Crew, schema: Any, operations: Sequence[Operation], plan: Plan) -> None:
    quota = int(plan.cases * BOUNDARY)
    each, end = max(1, int(quota / len(operations) / len(crew.senders))), crew.sent + quota
    for operation in operations:
        if crew.sent >= end:
            break
        found = list(boundary_cases(schema, operation))
        random.Random(plan.seed).shuffle(found)  # noqa: S311  (repeatable on purpose)
        for case in found[:each]:
            crew.send(case)
        crew.mend_after(operation)
    crew.tell("what lies on the limits")


def _send_generated(crew: Crew, operations: Sequence[Operation], plan: Plan) -> None:
    left = plan.cases - crew.sent
    batches = [(operation, mode) for operation in operations for mode in _possible(operation)]
    each = max(1, int(left / len(batches) / len(crew.senders)))
    for operation, mode in batches:
        if crew.sent >= plan.cases:
            break
        _send_batch(crew, operation, mode, each)
        crew.mend_after(operation)
    crew.tell("with generated data")


def _possible(operation: Operation) -> Sequence[Any]:
    """An operation without parameters and body has no wrong data."""
    wrong = operation.body or operation.query or operation.path_parameters or operation.headers
    return MODES if wrong else MODES[:1]


def _send_batch(crew: Crew, operation: Operation, mode: Any, count: int) -> None:
    @_settings(max_examples=count)
    @given(operation.as_strategy(generation_mode=mode))
    def send(case: Case) -> None:
        crew.send(case)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):
        send()


def _settings(**more: Any) -> settings:
    return settings(
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


def _send_chains(sender: Sender, schema: Any, count: int) -> None:
    """Requests that take what they need from answers before, until there were so many."""
    end = sender.sent + count
    while sender.sent < end:
        before = sender.sent
        machine = _machine(sender, schema, end)
        most = max(1, min(50, (end - before) // STEPS))
        with contextlib.suppress(hypothesis.errors.HypothesisException):  # the server has a memory
            machine.run(settings=_settings(max_examples=most, stateful_step_count=STEPS))
        hypothesis.core.global_force_seed += 1  # type: ignore[operator, assignment]
        sender.scene.mend(sender.actor)
        if sender.sent == before:
            break
    print(f"chains of {sender.actor.name}: {count} cases", file=sys.stderr, flush=True)


def _machine(sender: Sender, schema: Any, end: int) -> Any:
    class Chain(schema.as_state_machine()):  # type: ignore[misc]
        def step(self, input: Any) -> Any:  # noqa: A002  (the name that schemathesis gave it)
            from schemathesis.generation.stateful.state_machine import StepOutput

            if sender.sent >= end:
                return None
            answer = sender.send(input.case)
            if answer is None:
                return None
            self.after_call(answer, input.case)
            return StepOutput(answer, input.case)

    return Chain
