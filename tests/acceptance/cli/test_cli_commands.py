"""Every command once with `--json`: the whole path through documents, people and models."""

import json
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main

from acceptance.cli.running import Kosmos, check_refusal
from acceptance.small_site import SmallSite, serve_site
from kosmos.cli.main import app
from kosmos.encoders.weights import find_weights

# They run until they are stopped, and print no result.
ENDLESS = {"serve", "model-double", "os-mcp", "mcp", "watch-cluster"}
GUIDE = """# 泵 guide

The blue pump must be oiled every 40 days.

## 证书

叶子证书每九十天轮换一次，由正式值班操作。
"""
PAPER = """# The depth of tidal channels

Mara Lindqvist, Chen Wei

Published 2021, doi:10.5555/depth.2021

## Abstract

We measure the depth of tidal channels with a new gauge.

## Results

The deviation fell to 3.5 millimetres.

## References

[1] A. Referee. The zebra catalogue. 1999.
"""
Results = dict[str, Any]


def _declared() -> set[str]:
    """The names of all commands, as typer knows them."""
    found = set()
    root = typer.main.get_command(app)
    for name, command in getattr(root, "commands").items():  # noqa: B009
        below = getattr(command, "commands", None)
        found |= {f"{name} {inner}" for inner in below} if below else {name}
    return found


@pytest.fixture(scope="module")
def kosmos(tmp_path_factory: pytest.TempPathFactory) -> Kosmos:
    """A home whose path has blanks and Chinese characters."""
    made = Kosmos(tmp_path_factory.mktemp("cli") / "家 目录")
    assert made.json("db", "upgrade")["revision"]
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents to add."""
    folder = tmp_path_factory.mktemp("docs") / "手册 目录"
    (folder / "子目录").mkdir(parents=True)
    (folder / "泵.md").write_text(GUIDE)
    (folder / "子目录" / "other.txt").write_text("Nothing of note.\n")
    (folder / "film.mp4").write_bytes(b"\x00\x00\x00\x18ftypmp42" + bytes(50))
    return folder


@pytest.fixture(scope="module")
def double(kosmos: Kosmos, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the model double, run by its command."""
    script = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text('{"replies": [{"content": "pong"}, {"status": 401}]}')
    process = kosmos.start("model-double", script, "--port", "0")
    assert process.stderr is not None
    said = process.stderr.readline()
    yield said.split(" ")[-1].strip()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130


def _documents(kosmos: Kosmos, folder: Path) -> Results:
    name, quick = "手册 目录/泵.md", replace(kosmos, quick=True)
    return {
        "spaces create": quick.json("spaces", "create", "知识库", "--description", "说明"),
        "add": kosmos.json("add", folder, "--space", "知识库"),
        "add again": quick.json("add", folder, "--space", "知识库"),
        "documents list": quick.json("documents", "list", "--space", "知识库"),
        "reindex": quick.json("reindex", "--space", "知识库"),
        "search": kosmos.json("search", "证书轮换", "--k", "1"),
        **_searches(quick, folder),
        "ask": kosmos.json("ask", "How often must the pump be oiled?"),
        "ask in Chinese": quick.json("ask", "叶子证书多久轮换一次？", "--space", "知识库"),
        "documents show": quick.json("documents", "show", name, "--space", "知识库"),
        "read": kosmos.json("read", name, "--space", "知识库", "--lines", "3:7"),
        "grep": kosmos.json("grep", "证书|pump", "--space", "知识库"),
        **_jobs(quick, name),
        **_chunks(kosmos, name),
        "documents remove": kosmos.json("documents", "remove", name, "--space", "知识库"),
        "search after": quick.json("search", "证书轮换"),
        "gc": kosmos.json("gc"),
        "doctor": quick.json("doctor"),
        "spaces delete": quick.json("spaces", "delete", "知识库", "--yes"),
    }


def _chunks(kosmos: Kosmos, name: str) -> Results:
    quick, space = replace(kosmos, quick=True), ("--space", "知识库")
    return {
        "chunks show": kosmos.json("chunks", "show", name, *space),
        "chunks for people": quick.run("chunks", name, *space, "--lines", "7"),
        "chunks errors": quick.json("chunks", "errors", *space),
        "chunks retry": quick.run("chunks", "retry", "nothing"),
        "rechunk": kosmos.json("rechunk", name, *space),
        "spaces set": kosmos.json(
            "spaces", "set", "知识库", "--redaction", "email,phone", "--batch-lines", "50"
        ),
        "spaces set badly": quick.run("spaces", "set", "知识库", "--producer", "magic"),
        "documents cost": kosmos.json("documents", "cost", name, *space),
        "documents cost estimate": quick.json("documents", "cost", *space, "--estimate"),
        "verify": kosmos.json("verify", *space),
        "top": quick.json("top", "--once"),
        "verify for people": quick.run("verify", *space),
        "read verbatim": quick.json("read", name, *space, "--verbatim"),
    }


def _searches(kosmos: Kosmos, folder: Path) -> Results:
    questions = folder.parent / "questions.jsonl"
    questions.write_text('{"question": "叶子证书多久轮换", "relevant": ["泵.md"]}\n', encoding="utf-8")
    filters = ("--path", "手册", "--type", "content", "--since", "2020-01-01", "--language", "zh")
    ranking = ("--route", "vector=0", "--fusion", "rrf", "--explain", "--neighbours", "1", "--walk")
    evaluate = ("eval", "retrieval", questions, "--space", "知识库")
    return {
        "search filtered": kosmos.json("search", "证书轮换", *filters, "--group"),
        "search by page": kosmos.json("search", "证书轮换", "--page", "3-7"),
        "search explained": kosmos.json("search", "证书轮换", *ranking),
        "search for people": kosmos.run("search", "证书轮换", *ranking),
        "search refused": kosmos.run("search", "x", "--route", "vector"),
        "eval retrieval": kosmos.json(*evaluate, "--against", "fusion=rrf"),
        "eval again": kosmos.run(*evaluate, "--tune", "--save"),
        "eval retrieval refused": kosmos.run("eval", "retrieval", folder),
    }


def _jobs(kosmos: Kosmos, name: str) -> Results:
    create = (
        "jobs",
        "create",
        "chunking",
        "--document",
        name,
        "--space",
        "知识库",
        "--producer",
        "structure",
    )
    made = kosmos.json(*create)
    job = made["job"]["id"]
    return {
        "jobs create": made,
        "jobs estimate": kosmos.json(*create, "--estimate"),
        "jobs pause": kosmos.json("jobs", "pause", job),
        "jobs resume": kosmos.json("jobs", "resume", job),
        "jobs cancel": kosmos.json("jobs", "cancel", job),
        "jobs watch cancelled": kosmos.run("jobs", "watch", job, "--json"),
        "jobs retry": kosmos.json("jobs", "retry", job),
        "worker": kosmos.run("worker", "--drain"),
        "jobs show": kosmos.json("jobs", "show", job),
        "jobs watch": kosmos.run("jobs", "watch", job),
        "jobs list": kosmos.json("jobs", "list", "--space", "知识库"),
        "jobs run": kosmos.json(
            "jobs", "create", "indexing", "--document", name, "--space", "知识库", "--run"
        ),
        "jobs refused": kosmos.run(*create[:-1], "indexer"),
    }


def _accounts(kosmos: Kosmos, double: str) -> Results:
    add = ("credentials", "add", "模型", "--type", "LLM", "--base-url", double, "--model", "scripted")
    results = {
        "credentials add": kosmos.json(*add, "--key-stdin", stdin="sk-topsecret\n"),
        "credentials list": kosmos.json("credentials", "list"),
        "credentials test": kosmos.json("credentials", "test", "模型"),
        "credentials link": kosmos.json("credentials", "link", "模型", "--priority", "3"),
        "credentials remove": kosmos.json("credentials", "remove", "模型"),
        "users add": kosmos.json("users", "add", "韩梅梅"),
        "users list": kosmos.json("users", "list"),
        "spaces share": kosmos.json("spaces", "share", "default", "韩梅梅", "--role", "editor"),
        "spaces members": kosmos.json("spaces", "members", "default"),
        "spaces unshare": kosmos.json("spaces", "unshare", "default", "韩梅梅"),
        "spaces list": kosmos.json("spaces", "list"),
        "tokens create": kosmos.json("tokens", "create", "laptop", "--days", "7"),
        "tokens list": kosmos.json("tokens", "list"),
        **_encoders(kosmos, double),
        "db current": kosmos.json("db", "current"),
        "db upgrade": kosmos.json("db", "upgrade"),
    }
    made = results["tokens create"]["token"]["id"]
    return {**results, "tokens revoke": kosmos.json("tokens", "revoke", made)}


def _encoders(kosmos: Kosmos, double: str) -> Results:
    weights = find_weights()
    assert weights is not None
    endpoint = ("credentials", "add", "vectors", "--type", "EMBEDDING", "--base-url", double, "--model", "e")
    return {
        "models add": kosmos.json("models", "add", "mini", weights, "--query-prompt", "query: "),
        "endpoint": kosmos.json(*endpoint, "--instance"),
        "models list": kosmos.json("models", "list"),
        "models test": kosmos.json("models", "test"),
        "models test endpoint": kosmos.json("models", "test", "vectors"),
        "models test unknown": kosmos.run("models", "test", "nothing"),
        "models for people": kosmos.run("models", "test", "mini"),
        "models remove": kosmos.json("models", "remove", "mini"),
        "models add nowhere": kosmos.run("models", "add", "x", kosmos.home / "nowhere"),
    }


def _papers(kosmos: Kosmos) -> Results:
    """Papers in a home without any model."""
    quick, file = replace(kosmos, quick=True), kosmos.home.with_name("depth.md")
    file.write_text(PAPER)
    return {
        "papers add": quick.json("papers", "add", file),
        "papers list": quick.json("papers", "list"),
        "papers export": quick.json("papers", "export", "depth.md"),
        "papers for people": quick.run("papers", "export"),
        "papers ask": quick.json("papers", "ask", "How far did the deviation fall?", "--paper", "depth.md"),
        "papers summarize": quick.json("papers", "summarize", "depth.md", "--request", "deviation"),
        "papers survey": quick.json("papers", "survey", "--chinese"),
        "papers review": quick.json("papers", "review", "depth.md", "--request", "the new gauge"),
        "papers refused": quick.run("papers", "review", "nothing.md"),
        "search for references": quick.json("search", "zebra catalogue"),
    }


def _agents(kosmos: Kosmos, folder: Path) -> Results:
    """Agents and talks with them, in a home without any model."""
    quick = replace(kosmos, quick=True)
    quick.json("add", folder / "泵.md")
    create = ("agents", "create", "值班助手", "--prompt", "Be brief.", "--tools", "search,read")
    made = quick.json(*create, "--options", '{"temperature": 0}', "--steps", "5")
    text = quick.json("agents", "export", "值班助手")["yaml"]
    file = kosmos.home.with_suffix(".yaml")
    file.write_text(text.replace("值班助手", "copy"))
    question = "How often must the blue pump be oiled?\n/sources\n/quit\n"
    talk = quick.run("chat", "--agent", "值班助手", "--json", stdin=question)
    listed = quick.json("sessions", "list")
    return {
        "agents create": made,
        "agents export": text,
        "agents edit": quick.json("agents", "edit", "值班助手", "--steps", "7", "--tools", "all"),
        "agents show": quick.json("agents", "show", "值班助手"),
        "agents import": quick.json("agents", "import", file),
        "agents import shipped": quick.json("agents", "import", "--builtin"),
        "agents refused": quick.run("agents", "import", file, "--builtin"),
        "ask an agent": quick.json("ask", "--agent", "值班助手", "叶子证书多久轮换一次？"),
        "chat": talk,
        "chat for people": quick.run("chat", "--agent", "值班助手", stdin=question),
        "sessions list": listed,
        "sessions show": quick.json("sessions", "show", listed[0]["id"]),
        "agents delete": quick.json("agents", "delete", "值班助手"),
        "agents list": quick.json("agents", "list"),
        "sessions delete": quick.json("sessions", "delete", listed[0]["id"]),
        "approvals list": quick.json("approvals", "list", "--all"),
        "approvals approve": quick.run("approvals", "approve", "nobody-asked"),
        "approvals refuse": quick.run("approvals", "refuse", "nobody-asked", "--reason", "no"),
        "tools list": quick.json("tools", "list"),
        "tools trust": quick.run("tools", "trust", "nobody"),
        "tools call": quick.run("tools", "call", "nobody__nothing", "{}"),
    }


def _keeping(kosmos: Kosmos, folder: Path) -> Results:
    """A home in a backup, a space in a file, and both in other homes."""
    quick = replace(kosmos, quick=True)
    beside = kosmos.home.with_name
    away, moved = replace(quick, home=beside("restored")), replace(quick, home=beside("moved"))
    quick.json("add", folder / "泵.md")
    backup, space = beside("kosmos.zip"), beside("space.zip")
    return {
        "backup": quick.json("backup", backup, "--with-key"),
        "backup into a folder": quick.run("backup", backup.parent),
        "backup refused": quick.run("backup", backup),
        "restore": away.json("restore", backup),
        "restore refused": away.run("restore", backup, "--json"),
        "restored": away.json("documents", "list"),
        "export": quick.json("export", "default", space),
        "import": away.json("import", space, "--space", "另一个"),
        "import for people": away.run("import", space, "--space", "third"),
        "import refused": away.run("import", backup),
        "migrate": quick.json("migrate", "--to", moved.home),
        "migrate refused": quick.run("migrate", "--to", moved.home),
        "migrate badly": quick.run("migrate", "--to", "mysql://x/y"),
        "moved": moved.json("verify"),
    }


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    """A site to crawl."""
    with serve_site() as made:
        yield made


def _sites(home: Path, site: SmallSite) -> Results:
    kosmos = Kosmos(home, {"KOSMOS_FETCH_ALLOW_HOSTS": site.place}, quick=True)
    crawl = ("crawl", site.start, "--delay", "0")
    picture, data = home.with_suffix(".svg"), home.with_suffix(".json")
    first = kosmos.json(*crawl, "--report", picture)
    return {
        "crawl": first,
        "crawl for people": kosmos.run(*crawl, "--max-depth", "1"),
        "crawled": kosmos.json("documents", "list"),
        "crawls list": kosmos.json("crawls", "list", "--space", "default"),
        "crawls report": kosmos.json("crawls", "report", first["crawl"]["id"], "--report", data),
        "reports": (picture.read_text(), json.loads(data.read_text())),
        "crawl refused": kosmos.run("crawl", "http://169.254.169.254/"),
        "crawl badly": kosmos.run(*crawl, "--report", "report.txt"),
        "crawl failed": kosmos.run("crawl", f"http://{site.place}/nothing/", "--delay", "0"),
        "space of pages": kosmos.json("spaces", "create", "pages"),
        "add pages": kosmos.json("add", site.start, "--space", "pages"),
        "add pages again": kosmos.json("add", site.start, "--space", "pages"),
        "pages": kosmos.json("documents", "list", "--space", "pages"),
        "add away": kosmos.run("add", f"{site.start}away", "--space", "pages"),
    }


def _evaluation(kosmos: Kosmos, folder: Path) -> Results:
    """A chunking set of one question, measured for programs and for people, and none at all."""
    (folder / "guide.md").write_text(GUIDE)
    start = GUIDE.index("The blue pump")
    answer = {"content": "x", "start_index": start, "end_index": start + 42}
    row = {"corpus": "guide", "question": "pump oiled?", "references": [answer]}
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n")
    return {
        "eval chunking": kosmos.json("eval", "chunking", folder),
        "eval ops": kosmos.json("eval", "ops", folder),
        "eval for people": kosmos.run("eval", "chunking", folder),
        "eval refused": kosmos.run("eval", "chunking", folder / "nowhere"),
    }


@pytest.fixture(scope="module")
def results(
    kosmos: Kosmos, folder: Path, double: str, site: SmallSite, tmp_path_factory: pytest.TempPathFactory
) -> Results:
    """What each command printed. Two people work on one home at once."""
    with ThreadPoolExecutor() as pool:
        halves = [
            pool.submit(_documents, kosmos, folder),
            pool.submit(_accounts, replace(kosmos, quick=True), double),
            pool.submit(_sites, kosmos.home.with_name("sites"), site),
            pool.submit(_evaluation, replace(kosmos, quick=True), tmp_path_factory.mktemp("set")),
            pool.submit(_agents, Kosmos(kosmos.home.with_name("agents")), folder),
            pool.submit(_papers, Kosmos(kosmos.home.with_name("papers"), {"KOSMOS_ENCODER": "none"})),
            pool.submit(_keeping, Kosmos(kosmos.home.with_name("kept")), folder),
        ]
        found = {key: value for half in halves for key, value in half.result().items()}
    folders = (kosmos.home / "blobs", kosmos.home / "index")
    return {**found, "left": [path.name for folder in folders for path in folder.rglob("*.*")]}


def test_no_command_is_forgotten(results: Results) -> None:
    assert _declared() - set(results) == ENDLESS


def test_keeping(results: Results) -> None:
    assert results["backup"]["missing"] == []
    assert "keep secret.key" in results["backup into a folder"].stdout
    assert "there already" in check_refusal(results["backup refused"], 1)
    restored = results["restore"]["verified"]
    assert (restored["documents"], restored["verified"], restored["faults"]) == (1, 1, [])
    assert results["restore"]["index"]["vectors"] > 0
    assert "not empty" in check_refusal(results["restore refused"], 1)
    assert [item["source"] for item in results["restored"]] == ["泵.md"]
    assert (results["export"]["documents"], results["export"]["left_out"]) == (1, 0)
    imported = results["import"]
    assert (imported["name"], imported["documents"], imported["verified"]["verified"]) == ("另一个", 1, 1)
    assert "verified 1 of 1" in results["import for people"].stdout
    assert "kosmos restore" in check_refusal(results["import refused"], 2)
    assert results["migrate"]["before"] == results["migrate"]["after"]
    assert results["migrate"]["tables"]["chunk"] > 0
    assert "not empty" in check_refusal(results["migrate refused"], 1)
    assert "mysql" in check_refusal(results["migrate badly"], 2)
    assert (results["moved"]["verified"], results["moved"]["faults"]) == (1, [])


def test_documents(results: Results, folder: Path) -> None:
    names = ["手册 目录/泵.md", "手册 目录/子目录/other.txt"]
    assert results["add"]["added"] == names
    assert [item["path"] for item in results["add"]["skipped"]] == [str(folder / "film.mp4")]
    assert results["add again"]["unchanged"] == names
    assert [item["source"] for item in results["documents list"]] == names
    assert results["read"]["lines"] == GUIDE.split("\n")[2:7]
    assert [match["line"] for match in results["grep"]["matches"]] == [3, 5, 7]
    shown = results["documents show"]
    assert (shown["document"]["source"], shown["document"]["status"]) == (names[0], "READY")
    assert {job["type"] for job in shown["jobs"]} >= {"document_processing", "chunking", "indexing"}
    assert results["documents remove"]["removed"] == results["documents list"][0]["id"]
    assert names[0] not in {item["source"] for item in results["search after"]}


def test_pages_are_added_by_their_address(results: Results, site: SmallSite) -> None:
    name = f"{site.place}/docs"
    assert (results["add pages"]["added"], results["add pages"]["failed"]) == ([name], [])
    assert results["add pages again"]["unchanged"] == [name]
    assert [(item["source"], item["status"]) for item in results["pages"]] == [(name, "READY")]
    assert results["add away"].returncode == 1
    assert "169.254.169.254" in results["add away"].stdout


def test_answers_quote_the_file_itself(results: Results) -> None:
    lines = GUIDE.split("\n")
    assert results["search"][0]["source"] == "手册 目录/泵.md"
    for name, words in (("ask", "every 40 days"), ("ask in Chinese", "每九十天轮换一次")):
        cited = results[name]["citations"]
        assert any(words in item["quote"] for item in cited)
        for item in cited:
            assert item["quote"] in "\n".join(lines[item["start_line"] - 1 : item["end_line"]])


def test_evaluation(results: Results) -> None:
    report = results["eval chunking"]
    assert [row["label"] for row in report["rows"]][:4] == [
        "structure 32/64/256",
        "structure 64/128/512",
        "structure 128/256/1024",
        "structure 256/512/2048",
    ]
    assert report["rows"][0]["scores"]["words"]["recall"] == 1.0
    shown = results["eval for people"]
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "recall / precision / IoU of the 5 best pieces" in shown.stdout
    assert "questions.jsonl" in check_refusal(results["eval refused"], 2)


def test_searches(results: Results) -> None:
    source = "手册 目录/泵.md"
    assert {item["source"] for item in results["search filtered"]} == {source}
    assert results["search by page"] == []
    best = results["search explained"][0]
    parts = [place["part"] for place in best["explain"]["routes"].values()]
    rises = [rise["part"] for rise in best["explain"]["rises"]]
    assert best["score"] == pytest.approx(sum(parts) + sum(rises))
    assert best["neighbours"]
    for words in (f"1. {source}:", "sparse_vector: rank 1", "rrf_k 60", "轮换:"):
        assert words in results["search for people"].stdout
    assert results["search refused"].returncode == results["eval retrieval refused"].returncode == 2


def test_evaluations(results: Results) -> None:
    measured = results["eval retrieval"]
    assert measured["report"]["questions"] == 1
    assert measured["report"]["overall"]["Hit@5"]["value"] == 1.0
    assert measured["difference"]["nDCG@10"]["value"] == 0.0
    assert measured["other"]["fusion"] == "rrf"
    again = results["eval again"]
    assert again.returncode == 0, again.stderr
    assert "against the last run: Hit@5 +0.000" in again.stdout
    assert "tuned on half of the questions" in again.stdout


def test_agents(results: Results) -> None:
    made, changed = results["agents create"], results["agents edit"]
    assert (made["allowed_tools"], made["step_limit"]) == (["search", "read"], 5)
    assert (changed["allowed_tools"], changed["step_limit"]) == (None, 7)
    assert results["agents show"] == changed
    assert results["agents import"][0]["chat_options"] == {"temperature": 0}
    assert results["agents import shipped"] == []
    assert "one of them" in check_refusal(results["agents refused"], 2)
    names = [item["name"] for item in results["agents list"]]
    assert sorted(names) == ["copy", "knowledge assistant", "kubernetes operator", "literature assistant"]


def test_papers(results: Results) -> None:
    (row,) = results["papers list"]
    assert (row["authors"], row["year"]) == (["Mara Lindqvist", "Chen Wei"], 2021)
    assert row["doi"] == "10.5555/depth.2021"
    assert "@article{lindqvist2021depth," in results["papers export"]["bibtex"]
    assert results["papers for people"].stdout == results["papers export"]["bibtex"]
    assert "3.5 millimetres" in results["papers ask"]["answer"]
    assert results["papers review"]["strategy"] == "extractive"
    assert "nothing.md" in check_refusal(results["papers refused"], 1)
    assert results["search for references"] == []


def test_approvals_and_tools(results: Results) -> None:
    assert results["approvals list"] == []
    assert results["tools list"] == []
    for name in ("approvals approve", "approvals refuse", "tools trust", "tools call"):
        assert "There is no" in check_refusal(results[name], 1)
    assert results["eval ops"]["risk"]["mutating"] == 0


def test_talks(results: Results) -> None:
    lines = GUIDE.split("\n")
    events = [json.loads(line) for line in results["chat"].stdout.split("\n") if line.startswith("{")]
    (answer,) = [event["payload"] for event in events if event["type"] == "final_answer"]
    for item in [*answer["citations"], *results["ask an agent"]["citations"]]:
        assert item["quote"] in "\n".join(lines[item["start_line"] - 1 : item["end_line"]])
    assert "every 40 days" in answer["answer"]
    assert "每九十天轮换一次" in results["ask an agent"]["answer"]
    shown = results["chat for people"].stdout
    assert shown.count("    The blue pump must be oiled every 40 days.") == 2  # below the answer, by /sources
    messages = results["sessions show"]["messages"]
    assert [item["type"] for item in messages] == ["USER", "ASSISTANT"]
    assert results["sessions list"][0]["title"].startswith("How often")


def test_sites(results: Results, site: SmallSite) -> None:
    first, report = results["crawl"], results["crawls report"]["report"]
    assert (first["job"]["status"], first["failed"], first["existing"]) == ("COMPLETED", [], False)
    assert first["report"]["states"] == {"gone": 1, "kept": 2, "redirect": 1, "skipped": 1}
    assert report["skipped"] == first["report"]["skipped"]
    assert site.asked["/docs/secret"] == 0
    assert [(item["source"], item["status"], item["version"]) for item in results["crawled"]] == [
        (f"{site.place}/docs", "READY", 1),
        (f"{site.place}/docs/pump", "READY", 1),
    ]
    (listed,) = [item for item in results["crawls list"] if item["crawl"]["start"] == site.start]
    assert (listed["crawl"]["id"], listed["crawl"]["round"]) == (first["crawl"]["id"], 2)
    picture, data = results["reports"]
    assert picture.startswith("<svg ")
    assert data == report
    shown = results["crawl for people"]
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "round 2: COMPLETED (done)\n0 documents added or updated, 0 removed" in shown.stdout
    assert f"{site.start}missing (HTTP 404), links to it: 1" in shown.stdout


def test_what_cannot_be_crawled(results: Results) -> None:
    assert "metadata" in check_refusal(results["crawl refused"], 1)
    assert "neither .json nor .svg" in check_refusal(results["crawl badly"], 2)
    failed = results["crawl failed"]
    assert (failed.returncode, failed.stderr) == (1, "")
    assert "/nothing/ could be kept: HTTP 404." in failed.stdout


def test_jobs(results: Results) -> None:
    assert results["jobs create"]["job"]["status"] == "PENDING"
    assert results["jobs estimate"]["estimate"]["prompt_tokens"] == 0
    states = ["pause", "resume", "cancel", "retry"]
    assert [results[f"jobs {name}"]["status"] for name in states] == [
        "PAUSED",
        "PENDING",
        "CANCELLED",
        "PENDING",
    ]
    assert results["worker"].returncode == 0
    assert results["jobs show"]["job"]["status"] == "COMPLETED"
    assert results["jobs list"][0]["id"] == results["jobs create"]["job"]["id"]
    types = Counter(job["type"] for job in results["jobs list"])
    # Those of two files, of the index that was rebuilt, and the one made by hand.
    assert types == {"document_processing": 2, "chunking": 3, "indexing": 2, "encoding": 4, "reindexing": 1}
    assert results["jobs run"]["job"]["status"] == "COMPLETED"
    cancelled, watched = results["jobs watch cancelled"], results["jobs watch"]
    assert (cancelled.returncode, watched.returncode) == (1, 0)
    seen = [json.loads(line)["status"] for line in cancelled.stdout.rstrip("\n").split("\n")]
    assert seen == ["PENDING", "PAUSED", "PENDING", "CANCELLED"]
    assert "CANCELLED  Cancelled by hand." in watched.stderr
    assert watched.stderr.rstrip().split("  ")[-2:] == ["COMPLETED", "7/7"]


def test_chunks(results: Results) -> None:
    shown = results["chunks show"]
    assert [item["type"] for item in shown["chunks"]] == ["heading", "content", "heading", "content"]
    assert [(item["start_line"], item["end_line"]) for item in shown["chunks"]] == [
        (1, 2),
        (3, 4),
        (5, 6),
        (7, 7),
    ]
    drawn = results["chunks for people"].stdout.split("\n")
    assert drawn[0].startswith("手册 目录/泵.md: 3 chunks, 7 lines")
    assert drawn[1] == "└─ # 泵 guide  [1-2, 3 tokens]"
    assert drawn[2] == "   └─ ## 证书  [5-6, 3 tokens]"
    assert drawn[3].startswith("      └─ 叶子证书每九十天轮换一次")
    assert results["chunks errors"] == []
    assert "There is no chunk nothing" in check_refusal(results["chunks retry"], 1)
    assert results["rechunk"] == {"done": ["手册 目录/泵.md"], "failed": []}
    assert results["read verbatim"]["lines"] == GUIDE.rstrip("\n").split("\n")


def test_settings_proof_and_cost(results: Results) -> None:
    assert results["spaces set"]["settings"] == {
        "chunking": {"batch_lines": 50},
        "redaction": ["email", "phone"],
    }
    assert results["spaces set"]["in_force"]["redaction"] == "email,phone"
    assert "no value for producer" in check_refusal(results["spaces set badly"], 2)
    assert results["documents cost"]["sum"]["calls"] == 0
    assert results["documents cost estimate"]["documents"] == 2
    assert results["verify"] == {
        "documents": 2,
        "verified": 2,
        "waiting": 0,
        "citations": 0,
        "gone": 0,
        "faults": [],
    }
    told = results["verify for people"]
    assert (told.returncode, told.stdout, told.stderr) == (0, "verified 2 of 2\n", "")


def test_a_model_that_is_missing_is_named(results: Results) -> None:
    text = check_refusal(results["jobs refused"], 1)
    assert "needs a credential of type SLM" in text
    assert "kosmos credentials add NAME --type SLM" in text


def test_people(results: Results) -> None:
    assert [(item["user_name"], item["role"]) for item in results["spaces members"]][1:] == [
        ("韩梅梅", "editor")
    ]
    assert "default" in [item["space"]["name"] for item in results["spaces list"]]
    assert results["users list"][1]["id"] == results["users add"]["user"]["id"]
    created = results["tokens create"]
    assert created["token"]["id"] in [item["id"] for item in results["tokens list"]]
    assert created["text"] not in json.dumps(results["tokens list"])


def test_models(results: Results, kosmos: Kosmos) -> None:
    assert results["credentials test"]["model"] == "scripted"
    assert [item["priority"] for item in results["credentials link"]] == [3]
    assert results["credentials list"][0]["has_key"] is True
    assert "sk-topsecret" not in json.dumps(results, default=str)
    for path in kosmos.home.rglob("*"):
        assert not path.is_file() or b"sk-topsecret" not in path.read_bytes(), path


def test_encoders(results: Results) -> None:
    listed = {item["name"]: item for item in results["models list"]}
    assert listed["builtin"]["in_use"]
    assert listed["builtin"]["state"] == listed["mini"]["state"] == "ready, dimension 384"
    assert (listed["vectors"]["kind"], listed["vectors"]["state"]) == ("endpoint", "ready")
    tried = results["models test"]
    assert tried["encoder"].startswith("minilm")
    assert tried["alike"] > 0.7
    assert tried["unlike"] < 0.3
    assert results["models test endpoint"]["dimension"] == 384
    assert results["models for people"].stdout.startswith("works: sentence-transformers__all-MiniLM")
    assert results["models remove"] == {"removed": "mini"}
    assert "kosmos models list" in check_refusal(results["models test unknown"], 2)
    assert "no model folder" in check_refusal(results["models add nowhere"], 2)


def test_nothing_is_left_behind(results: Results) -> None:
    assert results["gc"]["removed"] == 0  # removing a document takes its bytes along
    default = next(item["space"] for item in results["spaces list"] if item["space"]["name"] == "default")
    collection = f"space_{default['id'].replace('-', '')}"
    assert [name for name in results["left"] if not name.startswith((collection, ".incoming"))] == []


def test_for_people(kosmos: Kosmos, folder: Path, results: Results) -> None:
    quick = replace(kosmos, quick=True)
    added = quick.run("add", folder)
    assert added.stdout.startswith("2 added, 0 updated, 0 unchanged, 1 skipped, 0 failed\n")
    asked = quick.run("ask", "How often must the pump be oiled?")
    assert "[1] 手册 目录/泵.md:" in asked.stdout
    listed = quick.run("documents", "list")
    assert [len(line.split("  ")[0]) for line in listed.stdout.split("\n")[1:3]] == [36, 36]
    narrow = Kosmos(kosmos.home, {"PYTHONIOENCODING": "ascii"}).run("read", "手册 目录/泵.md", "--lines", "7")
    assert (
        narrow.stdout == "     7  " + GUIDE.split("\n")[6].encode("ascii", "backslashreplace").decode() + "\n"
    )
    assert [done.returncode for done in (added, asked, listed, narrow)] == [0, 0, 0, 0]
    assert [done.stderr for done in (added, asked, listed, narrow)] == ["", "", "", ""]
