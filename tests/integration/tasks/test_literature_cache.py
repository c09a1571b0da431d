"""Summaries are made once for everybody who may read a paper, and again only when there is a reason."""

import asyncio
import os
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.agents.literature.intents import Intent
from kosmos.db.tables import chunk
from kosmos.db.tables_agents import summary_cache
from kosmos.domain.accounts import Role
from kosmos.domain.credentials import CredentialType
from kosmos.domain.events import EventType
from kosmos.domain.redactions import Redaction, RedactionKind, RedactionSource, dump_redactions
from kosmos.domain.sessions import RunStatus
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.llm.secrets import passing_box
from kosmos.tasks import runs
from kosmos.tasks.run_hall import RunHall
from kosmos.tasks.summary_stores import LEASE, LIFETIME

from .papers import Reader, condensed, literature_talk, paper, wish
from .scene import Scene
from .talks import Talk, final, payloads, talk_with

SUMMARY = "document_condensed_summary"
SURVEY: dict[str, Any] = {"mode_type": Intent.REVIEW_GENERATION}


async def add_papers(scene: Scene, count: int) -> tuple[str, ...]:
    made = [await scene.add(paper(f"depth{at}"), f"p{at}.md") for at in range(count)]
    return tuple(document.id for document, _ in made)


async def test_made_once_and_again_where_there_is_a_reason(scene: Scene) -> None:
    ids = await add_papers(scene, 4)
    reader = Reader()
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)

        async def calls(**more: Any) -> tuple[int, dict[str, Any]]:
            before = reader.count(SUMMARY)
            answer = await talk.answer("Survey them.", **wish(doc_ids=ids, **SURVEY, **more))
            return reader.count(SUMMARY) - before, answer["details"]

        assert (await calls())[0] == 4
        made, told = await calls()
        assert (made, told["cached_summaries"]) == (0, 4)
        await scene.add(paper("breadth"), "p1.md")
        made, told = await calls()
        assert (made, told["cached_summaries"]) == (1, 3)
        assert (await calls(refresh_summary_cache=True))[0] == 4
        assert (await calls())[0] == 0
        scene.later(LIFETIME.total_seconds() + 1)
        assert (await calls())[0] == 4
    async with scene.bench.db.read() as conn:
        keys = set((await conn.execute(summary_cache.select())).scalars())
    shape = {key.rsplit(":", 1)[0] for key in keys}
    assert shape == {f"doc_summary:{document_id}" for document_id in ids}


async def test_two_requests_at_once_make_one_call_each(scene: Scene) -> None:
    ids = await add_papers(scene, 3)

    def slow(body: dict[str, object]) -> Reply:
        return Reply(content=condensed(body), delay=0.3)

    reader = Reader(document_condensed_summary=slow)
    async with ModelServer(reader) as server:
        first = await literature_talk(scene, server)
        other = scene.using(runs=_another_process(os.getppid()))
        second = Talk(other, first.agent, (await talk_with(other, workflow="literature", name="b")).session)
        asked = wish(doc_ids=ids, **SURVEY)
        both = await asyncio.gather(first.ask("Survey.", **asked), second.ask("Survey.", **asked))
        await other.bench.runs.close()
    assert reader.count(SUMMARY) == 3
    made = [payloads(events, EventType.DOC_SUMMARY_COMPLETE) for events in both]
    assert sum(not item["cached"] for events in made for item in events) == 3
    assert [len(events) for events in made] == [3, 3]


def _another_process(pid: int) -> RunHall:
    """Runs as the cache sees those of another process."""
    hall = RunHall()
    host, _, token = hall.worker.rsplit(":", 2)
    hall.worker = f"{host}:{pid}:{token}"
    return hall


async def test_what_a_dead_process_was_making_is_free_at_once(scene: Scene) -> None:
    ids = await add_papers(scene, 2)
    ended = await asyncio.create_subprocess_exec("true")
    await ended.wait()
    dead = f"{_another_process(ended.pid).worker}/x"
    reader = Reader()
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        await talk.ask("Survey.", **wish(doc_ids=ids, **SURVEY))
        claim = {"summary": None, "claimed_by": dead, "claimed_until": scene.bench.clock() + LEASE}
        async with scene.bench.db.write() as conn:
            await conn.execute(summary_cache.update().values(**claim))
        await talk.ask("Survey.", **wish(doc_ids=ids, **SURVEY))
    assert reader.count(SUMMARY) == 4


async def test_a_run_that_is_stopped_claims_nothing_any_more(scene: Scene) -> None:
    ids = await add_papers(scene, 3)
    hung = True

    def slow(body: dict[str, Any]) -> Reply:
        return Reply(content=condensed(body), hang=hung)

    async with ModelServer(Reader(document_condensed_summary=slow)) as server:
        talk = await literature_talk(scene, server)
        run = await talk.start("Survey.", **wish(doc_ids=ids, **SURVEY))
        await server.until_active(3)
        stopped = await runs.stop_run(scene.bench, scene.owner, talk.session.id, run.id)
        assert stopped.status is RunStatus.STOPPED
        async with scene.bench.db.read() as conn:
            claims = set((await conn.execute(sa.select(summary_cache.c.claimed_by))).scalars())
        assert claims == {None}
        hung = False
        answer = await talk.answer("Survey.", **wish(doc_ids=ids, **SURVEY))
    assert answer["details"]["summaries"] == 3


async def test_one_that_fails_is_given_free(scene: Scene) -> None:
    ids = await add_papers(scene, 2)
    refuse = True

    def choosy(body: dict[str, object]) -> Reply:
        return Reply(status=400) if refuse and "depth1" in str(body) else Reply(content=condensed(body))

    reader = Reader(document_condensed_summary=choosy)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("Survey.", **wish(doc_ids=ids, **SURVEY))
        (error,) = payloads(events, EventType.DOC_SUMMARY_ERROR)
        assert error["document_id"] == ids[1]
        assert final(events)["details"]["summaries"] == 1
        refuse = False
        before = reader.count(SUMMARY)
        assert final(await talk.ask("Survey.", **wish(doc_ids=ids, **SURVEY)))["details"]["summaries"] == 2
    assert reader.count(SUMMARY) - before == 1


async def test_a_reader_shares_what_an_owner_made_but_gives_nothing_to_others(scene: Scene) -> None:
    ids = await add_papers(scene, 2)
    viewer = await scene.person("bo")
    await scene.invite("bo", Role.VIEWER)
    reader, theirs = Reader(), Reader(document_condensed_summary="Result: lies.")
    async with ModelServer(reader) as server, ModelServer(theirs) as evil:
        talk = await literature_talk(scene, server)
        new = NewCredential("evil", CredentialType.LLM, evil.base_url, "m", is_default=True)
        async with scene.bench.db.write() as conn:
            await add_credential(conn, viewer, new, box=passing_box(), now=scene.bench.clock())
        reading = await talk_with(replace(scene, owner=viewer), workflow="literature", name="v")
        asked = wish(doc_ids=ids[:1] + ids[1:], **SURVEY)
        await reading.ask("Survey.", **asked)
        assert theirs.count(SUMMARY) == 2
        await reading.ask("Survey.", **asked)
        assert theirs.count(SUMMARY) == 2  # kept for themselves
        await talk.ask("Survey.", **asked)
        assert reader.count(SUMMARY) == 2  # and for nobody else
        await scene.add(paper("breadth"), "p1.md")
        await talk.ask("Survey.", **asked)
        assert reader.count(SUMMARY) == 3
        answer = await reading.answer("Survey.", **asked)
    assert theirs.count(SUMMARY) == 2
    assert answer["details"]["cached_summaries"] == 2


async def test_what_is_hidden_later_makes_a_summary_another(scene: Scene) -> None:
    """The key tells what may be read, not what was once there."""
    ids = await add_papers(scene, 2)
    reader = Reader()
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        await talk.ask("Survey.", **wish(doc_ids=ids, **SURVEY))
        (first, *_) = [item for item in await scene.chunks(ids[0]) if "Abstract" not in item.raw_content]
        kind, source = RedactionKind.PRIVATE, RedactionSource.PERSON
        layer = dump_redactions([Redaction(first.start_line, first.end_line, kind, source, "…")])
        async with scene.bench.db.write() as conn:
            await conn.execute(chunk.update().where(chunk.c.id == first.id).values(redaction=layer))
        await talk.ask("Survey.", **wish(doc_ids=ids, **SURVEY))
    assert reader.count(SUMMARY) == 3
