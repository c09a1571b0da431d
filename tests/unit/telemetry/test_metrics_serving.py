"""The counters of a worker over real HTTP."""

import socket

import httpx2
import pytest

from kosmos.errors import ConfigError
from kosmos.telemetry import measures
from kosmos.telemetry.serving import serving_metrics

SECRET = "s3cret-of-tests"


def _get(port: int, path: str, token: str | None = None) -> httpx2.Response:
    headers = {} if token is None else {b"authorization": f"Bearer {token}".encode()}
    with httpx2.Client(trust_env=False, timeout=10) as http:
        return http.get(f"http://127.0.0.1:{port}{path}", headers=headers)


def test_counters_are_shown_to_who_has_the_token() -> None:
    measures.LEASES_LOST.add("of this test")
    with serving_metrics("127.0.0.1", 0, SECRET) as port:
        shown = _get(port, "/metrics", SECRET)
        assert shown.status_code == 200
        assert shown.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert 'kosmos_job_leases_lost_total{type="of this test"} 1' in shown.text


@pytest.mark.parametrize("token", [None, "wrong", "é", SECRET + "x"])
def test_nobody_else_sees_them(token: str | None) -> None:
    with serving_metrics("127.0.0.1", 0, SECRET) as port:
        refused = _get(port, "/metrics", token)
        assert refused.status_code == 401
        assert "kosmos_" not in refused.text


def test_health_needs_none_and_nothing_else_is_there() -> None:
    with serving_metrics("127.0.0.1", 0, SECRET) as port:
        assert _get(port, "/healthz").text == "ok\n"
        assert _get(port, "/../etc/passwd", SECRET).status_code == 404


def test_a_client_that_says_nothing_keeps_nobody_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kosmos.telemetry.serving.CLIENT_SECONDS", 0.2)
    with serving_metrics("127.0.0.1", 0, SECRET) as port, socket.create_connection(("127.0.0.1", port)):
        assert _get(port, "/healthz").status_code == 200


def test_without_a_token_or_a_port_it_says_what_to_do() -> None:
    with pytest.raises(ConfigError) as no_token, serving_metrics("127.0.0.1", 0, None):
        pass
    assert "KOSMOS_METRICS_TOKEN" in str(no_token.value.remedy)
    first = serving_metrics("127.0.0.1", 0, SECRET)
    with first as port, pytest.raises(ConfigError) as taken, serving_metrics("127.0.0.1", port, SECRET):
        pass
    assert "--metrics-port" in str(taken.value.remedy)
