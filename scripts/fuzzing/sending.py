"""Sends generated requests as somebody, judges the answers and counts."""

from typing import Any

import requests

from fuzzing.cases import LONG, Case, name_of, spare, tame
from fuzzing.inner_wire import ask
from fuzzing.scene import Actor, Scene
from fuzzing.tally import Tally
from fuzzing.watching import faults, same_refusal, twin, written

_KNOWN = ("method", "url", "headers", "params", "json", "data", "files", "cookies")
SECONDS = 30.0
STREAM_SECONDS = 0.4


class Sender:
    """A connection of one actor."""

    def __init__(self, scene: Scene, actor: Actor, tally: Tally, *, sockets: bool = True) -> None:
        self.scene = scene
        self.actor = actor
        self.tally = tally
        self.sent = 0
        self._http = requests.Session() if sockets else None
        if self._http is not None:
            self._http.trust_env = False

    def close(self) -> None:
        """Let the server end."""
        if self._http is not None:
            self._http.close()

    def send(self, case: Case) -> Any:
        """The answer to one request, judged; None when it cannot be sent or does not end."""
        tame(case, self.actor, self.scene)
        spare(case, self.actor)
        row = name_of(case.operation)
        text = written(case)
        try:
            answer = self._call(case)
        except requests.exceptions.ReadTimeout:
            self._cut(row, case)
            return None
        except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
            self.tally.report(row, f"the connection broke: {type(error).__name__}", self._curl(case))
            return None
        except (requests.exceptions.RequestException, UnicodeError, ValueError):
            return None  # HTTP has no way to say it
        self.sent += 1
        self.tally.count(row, str(answer.status_code))
        for what in faults(case, answer, self.actor, text):
            self.tally.report(row, what, f"{self.actor.name}: {self._curl(case)}\n    {_shown(answer)}")
        self._compare(case, answer)
        return answer

    def _call(self, case: Case) -> Any:
        seconds = STREAM_SECONDS if name_of(case.operation) in LONG else SECONDS
        served, headers = self.scene.served, self.actor.headers
        if self._http is not None:
            return case.call(base_url=served.url, session=self._http, headers=headers, timeout=seconds)
        given = case.as_transport_kwargs(base_url=served.url, headers=headers)
        request = requests.Request(**{key: given[key] for key in _KNOWN if key in given}).prepare()
        return served.run(ask(served.api, request, seconds=seconds))

    def _cut(self, row: str, case: Case) -> None:
        self.sent += 1
        self.tally.count(row, "cut off")
        if row not in LONG:
            self.tally.report(row, f"no answer within {SECONDS:g} s", self._curl(case))

    def _compare(self, case: Case, answer: Any) -> None:
        """Whoever is outside cannot tell what is there from what is not."""
        if not self.actor.is_outside or answer.status_code == 401:
            return
        parts = case.path_parameters, case.query, case.body
        swapped = twin(case, self.scene)
        if swapped is None:
            return
        try:
            absent = self._call(case)
        except requests.exceptions.RequestException:
            return
        finally:
            case.path_parameters, case.query, case.body = parts
        if not same_refusal(answer, absent, swapped):
            example = f"{self.actor.name}: {self._curl(case)}\n    {_shown(answer)}\n    {_shown(absent)}"
            self.tally.report(name_of(case.operation), "TELLS what is there from what is not", example)

    def _curl(self, case: Case) -> str:
        try:
            return str(case.as_curl_command(base_url=""))
        except Exception as error:  # noqa: BLE001  (only an example is lost)
            return f"{case!r} ({error})"


def _shown(answer: Any) -> str:
    return f"{answer.status_code} {answer.content[:300]!r}"
