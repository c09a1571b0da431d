"""The bridge over a double of the watch API: what happens now is found, goes stale, expires."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from kosmos.bridge.access import by_kubeconfig
from kosmos.bridge.bridging import RuntimeBridge
from kosmos.bridge.records import EVENT_TTL, STATE_TTL
from kosmos.bridge.watching import Watch
from kosmos.doubles.cluster_server import EVENTS, PODS, ClusterServer
from kosmos.errors import ConfigError, Unauthenticated
from kosmos.tasks import asking
from kosmos.tasks.documents import list_documents

from .scene import Scene


def pod(phase: str, name: str = "web") -> dict[str, Any]:
    return {"metadata": {"namespace": "shop", "name": name}, "status": {"phase": phase}}


def warning(message: str) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "shop", "name": "web"}
    return {"involvedObject": about, "type": "Warning", "reason": "FailedScheduling", "message": message}


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - nothing tells when a server has been asked
            await asyncio.sleep(0.01)


async def soon(_: float) -> None:
    await asyncio.sleep(0)


def bridge_of(scene: Scene, http: httpx2.AsyncClient) -> RuntimeBridge:
    watches = [Watch(http, "Pod", PODS, sleep=soon), Watch(http, "Event", EVENTS, sleep=soon)]
    return RuntimeBridge(scene.bench, scene.owner, scene.space_id, "prod", watches)


async def texts(scene: Scene) -> str:
    await scene.work()
    hits = await asking.search(scene.bench, scene.owner, "pod web shop scheduling memory", k=10)
    return "\n".join(hit.text for hit in hits)


async def test_what_happens_now_is_found_until_it_is_over(scene: Scene) -> None:
    async with ClusterServer() as cluster, httpx2.AsyncClient(base_url=cluster.url, trust_env=False) as http:
        cluster.objects[PODS] = [pod("Pending")]
        bridge = bridge_of(scene, http)
        running = asyncio.create_task(bridge.run(every=3600))
        await until(lambda: cluster.watching(PODS) == 1 and cluster.watching(EVENTS) == 1)
        for _ in range(20):
            cluster.tell(EVENTS, "ADDED", warning("3 Insufficient memory"))
        await until(lambda: bridge.board.suppressed == 19)
        await bridge.flush()
        found = await texts(scene)
        assert "is Pending" in found
        assert "3 Insufficient memory" in found
        (document,) = await list_documents(scene.bench, scene.owner, scene.space_id)
        assert document.source == "cluster/prod/shop.md"
        assert document.metadata["partition"] == "dynamic"

        cluster.tell(PODS, "MODIFIED", pod("Running"))
        await until(lambda: any(item.text == "is Running" for item in bridge.board.records.values()))
        scene.later(EVENT_TTL.total_seconds())
        await bridge.flush()
        found = await texts(scene)
        assert "is Running" in found
        assert "Insufficient" not in found

        cluster.tell(PODS, "DELETED", pod("Running"))
        await until(lambda: any(item.text == "was deleted" for item in bridge.board.records.values()))
        scene.later(STATE_TTL.total_seconds())
        await bridge.flush()
        assert await list_documents(scene.bench, scene.owner, scene.space_id) == []
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_watch_goes_on_where_it_broke_off(scene: Scene) -> None:
    async with ClusterServer() as cluster, httpx2.AsyncClient(base_url=cluster.url, trust_env=False) as http:
        cluster.objects[PODS] = [pod("Pending")]
        watch = Watch(http, "Pod", PODS, sleep=soon)
        changes = watch.changes()
        assert (await anext(changes))[1]["status"]["phase"] == "Pending"
        following = asyncio.ensure_future(anext(changes))
        await until(lambda: cluster.watching(PODS) == 1)
        cluster.tell(PODS, "MODIFIED", pod("Running"))
        await following
        version = watch.version
        following = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        cluster.break_off()
        await until(lambda: len([1 for _, query in cluster.asked if query.get("watch")]) == 2)
        assert cluster.asked[-1][1]["resourceVersion"] == version
        assert watch.lists == 1
        # What it wanted to go on from is forgotten: everything is listed again.
        await until(lambda: cluster.watching(PODS) == 1)
        cluster.forgets = True
        cluster.break_off()
        await following
        assert watch.lists == 2
        await changes.aclose()  # type: ignore[attr-defined]


async def test_silence_is_marked_as_stale(scene: Scene) -> None:
    async with httpx2.AsyncClient(base_url="http://127.0.0.1:9", trust_env=False) as http:
        bridge = bridge_of(scene, http)
        now = scene.bench.clock()
        bridge.heard = now
        bridge.board.observe("ADDED", {"kind": "Pod", **pod("Running")}, now)
        await bridge.flush()
        assert "STALE" not in await texts(scene)
        scene.later(120)
        assert bridge.stale_since(scene.bench.clock()) == now
        await bridge.flush()
        assert "STALE: the cluster has not been heard of" in await texts(scene)


async def test_what_an_earlier_bridge_left_is_swept(scene: Scene) -> None:
    await scene.add("# Stays\n\nA text.\n", "stays.md")
    async with httpx2.AsyncClient(base_url="http://127.0.0.1:9", trust_env=False) as http:
        bridge = bridge_of(scene, http)
        bridge.board.observe("ADDED", {"kind": "Pod", **pod("Running")}, scene.bench.clock())
        await bridge.flush()
        await scene.work()
        assert await replace(bridge).sweep() == 1
    left = await list_documents(scene.bench, scene.owner, scene.space_id)
    assert [item.source for item in left] == ["stays.md"]


async def test_a_cluster_that_refuses_ends_the_bridge(scene: Scene) -> None:
    async with ClusterServer() as cluster, httpx2.AsyncClient(base_url=cluster.url, trust_env=False) as http:
        cluster.status = 403
        with pytest.raises(Unauthenticated):
            await bridge_of(scene, http).run(every=0.01)


def test_a_kubeconfig_is_read(tmp_path: Any) -> None:
    file = tmp_path / "config"
    file.write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://x:6443/'}}]\nusers: [{name: u, user: {token: t}}]\n"
    )
    found = by_kubeconfig(file)
    assert (found.name, found.server, found.token) == ("a", "https://x:6443", "t")
    file.write_text("current-context: b\ncontexts: []\nclusters: []\n")
    with pytest.raises(ConfigError):
        by_kubeconfig(file)
