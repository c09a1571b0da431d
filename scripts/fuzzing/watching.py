"""What is wrong with an answer: errors of the server's own, broken promises of the schema, leaks."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from schemathesis import checks as builtin
from schemathesis.checks import load_all_checks
from schemathesis.core import NotSet
from schemathesis.core.failures import FailureGroup

from fuzzing.cases import Case, name_of
from fuzzing.scene import Actor, Scene

PROBLEM = "application/problem+json"
MAX_PROBLEM = 8000
FOR_ANYBODY = frozenset(("healthz",))
AWAY = 502  # somebody else, whom the request names, does not answer: said by the schema where it can be
NAMES = (
    *("status_code_conformance", "content_type_conformance"),
    *("response_schema_conformance", "response_headers_conformance"),
)
load_all_checks()
PROMISES = [builtin.CHECKS.get_one(name) for name in NAMES]


def faults(case: Case, answer: Any, actor: Actor, sent: str) -> Iterator[str]:
    """Everything that is wrong with one answer."""
    declared = {str(code) for code in case.operation.definition.raw["responses"]}
    if answer.status_code >= 500 and not (answer.status_code == AWAY and str(AWAY) in declared):
        yield f"error {answer.status_code} of the server's own"
    yield from _broken_promises(case, answer)
    yield from _bad_problem(answer)
    yield from _leaks(answer, actor, sent)
    yield from _wrongly_let_in(case, answer, actor)


def _broken_promises(case: Case, answer: Any) -> Iterator[str]:
    try:
        case.validate_response(answer, checks=PROMISES)
    except FailureGroup as group:
        for failure in group.exceptions:
            first = str(getattr(failure, "message", "") or failure).strip().split("\n")
            yield f"{getattr(failure, 'title', type(failure).__name__)}: {' '.join(first)[:300]}"


def _bad_problem(answer: Any) -> Iterator[str]:
    if answer.status_code < 400 or answer.request.method == "HEAD":
        return
    kind = (answer.headers.get("content-type") or [""])[0]
    if kind != PROBLEM:
        yield f"a refusal as {kind!r}"
        return
    said = json.loads(answer.content)
    if said["status"] != answer.status_code or not said["title"] or not said["detail"]:
        yield "a problem that does not say what is wrong"
    if len(answer.content) > MAX_PROBLEM:
        yield "a refusal that says everything again"


def _leaks(answer: Any, actor: Actor, sent: str) -> Iterator[str]:
    text = answer.content.decode(errors="replace") + str(dict(answer.headers))
    for mark in sorted(actor.forbidden):
        if mark in text and mark not in sent:
            yield f"LEAK to {actor.name}: {_hide(mark)}"


def _hide(mark: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "an id", mark)


def _wrongly_let_in(case: Case, answer: Any, actor: Actor) -> Iterator[str]:
    if not 200 <= answer.status_code < 300:
        return
    if actor.person is None and name_of(case.operation) not in FOR_ANYBODY:
        yield "LET IN: no token was needed"
    if actor.is_outside and set(map(str, case.path_parameters.values())) & actor.forbidden:
        yield f"LET IN: {actor.name} to something of somebody else"


def written(case: Case) -> str:
    """Everything of a request that an answer may repeat."""
    body = "" if isinstance(case.body, NotSet) else case.body
    return f"{case.path_parameters} {case.query} {dict(case.headers or {})} {body}"


def twin(case: Case, scene: Scene) -> dict[str, str] | None:
    """Let a request ask for what never was instead of something of the victim; which id became which."""
    theirs = {*scene.private.values(), *scene.shared.values()}
    found = [identity for identity in theirs if identity in written(case)]
    if not found:
        return None
    swapped = {identity: str(uuid.uuid4()) for identity in found}
    case.path_parameters = _swap(case.path_parameters, swapped)
    case.query = _swap(case.query, swapped)
    if not isinstance(case.body, NotSet):
        case.body = _swap(case.body, swapped)
    return swapped


def _swap(value: Any, swapped: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return swapped.get(value, value)
    if isinstance(value, Mapping):
        return {key: _swap(item, swapped) for key, item in value.items()}
    return [_swap(item, swapped) for item in value] if isinstance(value, list) else value


def same_refusal(there: Any, absent: Any, swapped: Mapping[str, str]) -> bool:
    """Whether both answers say the same but for the ids."""
    if there.status_code != absent.status_code:
        return False
    return there.status_code < 400 or _plain(there, swapped) == _plain(absent, swapped)


def _plain(answer: Any, swapped: Mapping[str, str]) -> str:
    said = json.loads(answer.content)
    text = json.dumps({key: value for key, value in said.items() if key != "request_id"})
    for old, new in swapped.items():
        text = text.replace(old, "id").replace(new, "id")
    return text
