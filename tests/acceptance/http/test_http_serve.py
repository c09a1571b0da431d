"""`kosmos serve` as a process of its own, on both engines."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

KOSMOS = Path(sys.executable).parent / "kosmos"
KEY = "sk-never-in-a-log"


def _environ(home: Path, **settings: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
    return {**kept, "KOSMOS_HOME": str(home), **{f"KOSMOS_{key}": value for key, value in settings.items()}}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def _serving(environ: dict[str, str], log: Path) -> Iterator[tuple[httpx2.Client, "subprocess.Popen[bytes]"]]:
    """A running server and a client of its first user."""
    port = _free_port()
    with log.open("wb") as err:
        process = subprocess.Popen([KOSMOS, "serve", "--port", str(port)], env=environ, stderr=err)
    http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False)
    try:
        _await_health(http, process, log)
        token = (Path(environ["KOSMOS_HOME"]) / "token").read_text().strip()
        http.headers["authorization"] = f"Bearer {token}"
        yield http, process
    finally:
        http.close()
        if process.poll() is None:
            process.kill()
        process.wait()


def _await_health(http: httpx2.Client, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(400):
        assert process.poll() is None, log.read_text()
        try:
            http.get("/healthz").raise_for_status()
        except httpx2.TransportError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"it does not answer: {log.read_text()}")


def _run(environ: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [KOSMOS, *arguments], env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_serve_on_each_engine(empty_url: str, tmp_path: Path) -> None:
    environ = _environ(tmp_path / "家", DATABASE_URL=empty_url, LOG_LEVEL="DEBUG")
    if empty_url.startswith("postgresql"):
        refused = _run(environ, "serve", "--port", str(_free_port()))
        assert refused.returncode == 2
        assert "kosmos db upgrade" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert _run(environ, "db", "upgrade").returncode == 0
    with _serving(environ, tmp_path / "log") as (http, process):
        made = http.post("/api/v1/spaces", json={"name": "空间"}, headers={"x-request-id": "from-me"})
        assert made.status_code == 201
        assert made.headers["x-request-id"] == "from-me"
        assert "server" not in made.headers
        names = [item["name"] for item in http.get("/api/v1/spaces").json()["items"]]
        assert names == ["default", "空间"]
        assert http.get("/api/v1/me", headers={"authorization": "Bearer x"}).status_code == 401
        form = {"name": "m", "type": "LLM", "base_url": "http://127.0.0.1:9/v1", "model": "m", "key": KEY}
        made = http.post("/api/v1/credentials", json=form)
        assert http.post(f"/api/v1/credentials/{made.json()['id']}/test").status_code == 502
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
    assert process.returncode in (0, -signal.SIGTERM)
    _check_log((tmp_path / "log").read_text(), http.headers["authorization"].split(" ")[1])


def _check_log(text: str, token: str) -> None:
    """One JSON object a line for each request; neither a token nor a key."""
    assert "Kosmos at http://127.0.0.1:" in text
    lines = [json.loads(line) for line in text.split("\n") if line.startswith("{")]
    mine = [line for line in lines if line.get("request_id") == "from-me"]
    assert [(line["method"], line["path"], line["status"]) for line in mine] == [
        ("POST", "/api/v1/spaces", 201)
    ]
    assert token not in text
    assert KEY not in text


def test_what_keeps_it_from_starting_is_said_in_a_sentence(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "kosmos.db").write_text("this is no database, whatever its name says; it is a text")
    refused = _run(_environ(home), "serve", "--port", str(_free_port()))
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: ")
    assert "not an intact SQLite database" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = _run(_environ(tmp_path / "home"), "serve", "--port", str(taken.getsockname()[1]))
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: The server cannot listen at 127.0.0.1")
    assert "kosmos serve --port" in refused.stderr
