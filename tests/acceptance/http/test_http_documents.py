"""Documents over HTTP: uploaded, looked at, taken back, by a server that works on them itself."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from acceptance.http.conftest import MAX_BODY
from acceptance.http.serving import Served
from acceptance.http.test_http_problems import check_problem
from acceptance.http.world import Person, World, first_person, notebook
from kosmos.config import load_settings
from kosmos.db.documents import get_document

MOST = 3 * 2**20
TEXT = "# 泵 Pump\n\nOil it every 40 days.\n\n## 证书\n\n每九十天轮换。\n"


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that works on jobs and takes files of three megabytes in bodies of one."""
    home = tmp_path_factory.mktemp("uploads")
    limits = {"KOSMOS_MAX_FILE_BYTES": str(MOST), "KOSMOS_MAX_BODY_BYTES": str(MAX_BODY)}
    with Served(load_settings({"KOSMOS_HOME": str(home), **limits})) as served:
        yield served


@pytest.fixture(scope="module")
def ada(working: Served) -> Person:
    return first_person(working)


@pytest.fixture
def path(ada: Person) -> str:
    """The documents of a new space."""
    count = len(ada.ok("GET", "/api/v1/spaces?limit=1000")["items"])
    space = ada.ok("POST", "/api/v1/spaces", {"name": f"uploads {count}"})
    return f"/api/v1/spaces/{space['id']}/documents"


def _files(*files: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("file", (name, data, "application/octet-stream")) for name, data in files]


def _ready(person: Person, document_id: str) -> Any:
    """The document once nobody works on it any more."""
    for _ in range(600):
        view = person.ok("GET", f"/api/v1/documents/{document_id}/overview")
        if all(job["status"] in ("COMPLETED", "FAILED", "CANCELLED") for job in view["jobs"]):
            return view
        time.sleep(0.05)
    pytest.fail(f"it does not become ready: {view}")


def test_a_form_with_several_files(ada: Person, path: str) -> None:
    book = notebook("first")
    files = _files(
        ("手册/泵.md", TEXT.encode()), ("book.ipynb", book), ("zip.md", b"PK\x03\x04" + bytes(100))
    )
    answer = ada.http.post(path, files=files)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert [item["document"]["source"] for item in body["added"]] == ["手册/泵.md", "book.ipynb"]
    assert [item["name"] for item in body["refused"]] == ["zip.md"]
    assert [job["type"] for job in body["added"][0]["jobs"]] == [
        "document_processing",
        "chunking",
        "indexing",
    ]
    first, second = (_ready(ada, item["document"]["id"]) for item in body["added"])
    assert first["document"]["status"] == second["document"]["status"] == "READY"
    assert (first["document"]["title"], first["converter"][:9]) == ("泵 Pump", "markdown/")
    assert first["spent"]["cost"] == 0
    assert ada.http.get(f"/api/v1/documents/{second['document']['id']}/original").content == book
    (hit,) = ada.ok("POST", "/api/v1/search", {"query": "九十天 轮换", "k": 1})["items"]
    assert hit["document_id"] == first["document"]["id"]


def test_one_file_as_the_body(ada: Person, path: str) -> None:
    outcomes = []
    for text in (TEXT, TEXT, TEXT + "\nMore."):
        answer = ada.http.post(f"{path}?filename=泵.md", content=text.encode())
        assert answer.status_code == 201, answer.text
        (added,) = answer.json()["added"]
        outcomes.append(added["outcome"])
        view = _ready(ada, added["document"]["id"])
    assert outcomes == ["added", "unchanged", "updated"]
    assert (view["document"]["version"], view["document"]["status"]) == (2, "READY")
    assert view["chunk_count"] > 1


def test_a_file_of_more_than_a_body_is_taken_and_of_more_than_the_limit_is_not(
    ada: Person, path: str, working: Served
) -> None:
    assert MAX_BODY < MOST
    whole = b"# Large\n\n" + b"word " * (MOST // 5 - 2)
    answer = ada.http.post(f"{path}?filename=large.md", content=whole)
    assert answer.status_code == 201, answer.text
    document = answer.json()["added"][0]["document"]["id"]
    assert ada.http.get(f"/api/v1/documents/{document}/original").content == whole
    ada.ok("DELETE", f"/api/v1/documents/{document}")
    beyond = whole + b"x" * 100
    for send in (
        {"url": f"{path}?filename=large.md", "content": beyond},
        {"url": f"{path}?filename=large.md", "content": iter([beyond[:MAX_BODY], beyond[MAX_BODY:]])},
        {"url": path, "files": _files(("large.md", beyond))},
        {"url": path, "files": _files(("a.md", whole[: MOST // 2]), ("b.md", beyond[MOST // 2 :] + b"xx"))},
        {"url": f"{path}?filename=large.md", "content": beyond + b"x" * MOST},
    ):
        problem = check_problem(ada.http.post(**send), 413)
        assert "KOSMOS_MAX_FILE_BYTES" in problem["remedy"]
    assert ada.ok("GET", path)["items"] == []
    left = [item.name for item in working.settings.home.iterdir()]
    assert not [name for name in left if name.startswith("tmp")]


@pytest.mark.parametrize(
    ("kind", "query", "content"),
    [
        ("application/json", "", b'{"name": "x"}'),
        ("application/octet-stream", "", b"text"),
        ("application/octet-stream", "?filename=", b"text"),
        ("application/octet-stream", "?filename=..%2F..", b"text"),
        ("application/octet-stream", "?filename=a%00b.md", b"text"),
        ("application/octet-stream", "?filename=a%0ab.md", b"text"),
        ("application/octet-stream", "?filename=" + "长" * 5000, b"text"),
        ("application/octet-stream", "?filename=a.exe", b"MZ\x90\x00" + bytes(100)),
        ("multipart/form-data", "", b"text"),
        ("multipart/form-data; boundary=x", "", b""),
        ("multipart/form-data; boundary=x", "", b"text"),
        ("multipart/form-data; boundary=x", "", b"--x--\r\n"),
        ("multipart/form-data; boundary=x", "", b"--x\r\n\r\ntext\r\n--x--\r\n"),
        (
            "multipart/form-data; boundary=x",
            "",
            b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\ntext\r\n--x--\r\n',
        ),
        (
            "multipart/form-data; boundary=x",
            "",
            b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.md"\r\n\r\ntext',
        ),
        ("multipart/form-data; boundary=x", "", b"--x\r\n" + b"A: b\r\n" * 10_000),
    ],
)
def test_uploads_that_are_none(ada: Person, path: str, kind: str, query: str, content: bytes) -> None:
    answer = ada.http.post(path + query, content=content, headers={"content-type": kind})
    check_problem(answer, 422)
    assert ada.ok("GET", path)["items"] == []


def test_an_upload_that_breaks_off_leaves_nothing(
    ada: Person, path: str, working: Served, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(working.url.rsplit(":", 1)[1])
    head = f"POST {path}?filename=a.md HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ada.token}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as conn:
        conn.sendall(head.encode() + b"Content-Length: 100000\r\n\r\n" + b"x" * 1000)
        time.sleep(0.2)
    assert working.client().get("/healthz").status_code == 200
    assert "request broke" not in caplog.text
    assert ada.ok("GET", path)["items"] == []


def test_nobody_sends_a_body_before_they_are_known(working: Served, path: str) -> None:
    port = int(working.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as conn:
        conn.sendall(
            f"POST {path}?filename=a.md HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode()
        )
        assert conn.recv(1000).split(b" ")[1] == b"401"


def test_a_file_that_cannot_be_converted_says_why(ada: Person, path: str) -> None:
    broken = json.dumps({"cells": 5, "nbformat": 4}).encode()
    answer = ada.http.post(f"{path}?filename=broken.ipynb", content=broken)
    assert answer.status_code == 201, answer.text
    view = _ready(ada, answer.json()["added"][0]["document"]["id"])
    assert view["document"]["status"] == "FAILED"
    assert view["document"]["error"]
    assert [job["status"] for job in view["jobs"]].count("FAILED") == 3
    lines = ada.call("GET", f"/api/v1/documents/{view['document']['id']}/lines")
    assert view["document"]["error"][:40] in check_problem(lines, 409)["detail"]


def test_figures_and_originals_leave_as_bytes_that_do_nothing(ada: Person, path: str) -> None:
    page = b"<!doctype html><html><body><script>alert(1)</script><p>Words of a page.</p></body></html>"
    files = _files(("b\u202eook “1”.ipynb", notebook("second")), ("page.html", page))
    book, html = (item["document"]["id"] for item in ada.http.post(path, files=files).json()["added"])
    _ready(ada, book)
    (asset,) = ada.ok("GET", f"/api/v1/documents/{book}/assets")["items"]
    assert (asset["media_type"], asset["analysis_status"]) == ("image/png", "NOT_ANALYSED")
    line = ada.ok("GET", f"/api/v1/documents/{book}/lines?start={asset['line']}&end={asset['line']}")[
        "lines"
    ][0]
    assert f"asset:{asset['sha256']}" in line
    picture = ada.http.get(f"/api/v1/assets/{asset['id']}")
    assert (picture.headers["content-type"], len(picture.content)) == ("image/png", asset["size"])
    original = ada.http.get(f"/api/v1/documents/{html}/original")
    assert (original.headers["content-type"], original.content) == ("application/octet-stream", page)
    for answer in (picture, original):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
        assert answer.headers["content-disposition"].isascii()


def test_the_tree_of_chunks(ada: Person, path: str) -> None:
    text = "# One\n\n" + "\n\n".join(f"## Part {part}\n\n{'words ' * 80}" for part in range(9))
    answer = ada.http.post(f"{path}?filename=tree.md", content=text.encode())
    document = answer.json()["added"][0]["document"]["id"]
    _ready(ada, document)
    found: list[dict[str, Any]] = []
    after: str | None = "-1"
    while after is not None:
        page = ada.ok("GET", f"/api/v1/documents/{document}/chunks?limit=4&after={after}")
        found, after = found + page["items"], page["next"]
    assert "\n".join(item["text"] for item in found) == text.rstrip("\n")
    ends = [item["end_line"] for item in found]
    assert [item["start_line"] for item in found] == [1, *(end + 1 for end in ends[:-1])]
    ids = [item["id"] for item in found]
    assert found[0]["parent_id"] is None
    assert all(item["parent_id"] in ids[: item["position"]] for item in found[1:])


def test_lost_bytes_are_an_error_and_not_an_empty_file(world: World) -> None:
    person = world.join("Loser")
    space = person.ok("POST", "/api/v1/spaces", {"name": "lost"})["id"]
    document = world.add(space, "lost.md", "# Lost\n\nwords that nobody else has")
    bench = world.served.app.bench

    async def lose() -> None:
        async with bench.db.read() as conn:
            found = await get_document(conn, document)
        assert found is not None
        await bench.blobs.remove(found.original_sha256)

    world.served.run(lose())
    answer: httpx2.Response = person.call("GET", f"/api/v1/documents/{document}/original")
    check_problem(answer, 500)


def _ended(person: Person, job_id: str) -> Any:
    for _ in range(600):
        job = person.ok("GET", f"/api/v1/jobs/{job_id}")
        if job["status"] in ("COMPLETED", "FAILED", "CANCELLED"):
            return job
        time.sleep(0.05)
    pytest.fail(f"it does not end: {job}")


def test_vectors_follow_by_themselves_and_can_be_taken_away(ada: Person, path: str) -> None:
    space = path.split("/")[4]
    text = b"# Pumps\n\nThe pump must be oiled every forty days.\n"
    sent = ada.http.post(path, files=_files(("pumps.md", text))).json()
    _ready(ada, sent["added"][0]["document"]["id"])
    question = {"query": "水泵多久加一次油", "space_ids": [space]}
    found = ada.ok("POST", "/api/v1/search", question)
    assert (found["warnings"], {"vector"} <= found["items"][0]["routes"].keys()) == ([], True)
    wanted = {"type": "reencoding", "space_id": space, "context": {"encoder": "none"}}
    made = ada.ok("POST", "/api/v1/jobs", wanted)
    assert _ended(ada, made["job"]["id"])["result"] == {"encoder": None, "vectors": 0}
    assert ada.ok("POST", "/api/v1/search", question)["items"] == []
    again = ada.ok("POST", "/api/v1/jobs", {**wanted, "context": {"encoder": "builtin"}})
    assert _ended(ada, again["job"]["id"])["result"]["vectors"] > 0
    assert ada.ok("POST", "/api/v1/search", question)["items"]
    refused = ada.call("POST", "/api/v1/jobs", {**wanted, "context": {"encoder": "/etc"}})
    assert refused.status_code == 422
