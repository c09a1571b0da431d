"""What the OS server does for each call: judge, ask for the approval, write down, act."""

import asyncio
import hashlib
import os
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kosmos.errors import Forbidden, KosmosError
from kosmos.risk import Assessment, RiskLevel, assess, digest, file_argv
from kosmos.sandbox.audit import AuditLog
from kosmos.sandbox.box import Command, Sandbox
from kosmos.sandbox.commands import admit
from kosmos.sandbox.files import Workspace
from kosmos.sandbox.grants import Grants
from kosmos.sandbox.limits import Outcome
from kosmos.sandbox.policy import Policy
from kosmos.sandbox.search import search

Result = dict[str, Any]
Done = TypeVar("Done")
NEEDS_APPROVAL = RiskLevel.HIGH
AT_ONCE = 4  # commands; limits count for each of them


class OsCalls:
    """The calls over one workspace, under one policy."""

    def __init__(
        self, sandbox: Sandbox, files: Workspace, *, policy: Policy, grants: Grants, log: AuditLog
    ) -> None:
        self._sandbox = sandbox
        self._files = files
        self._policy = policy
        self._grants = grants
        self._log = log
        self._places = asyncio.Semaphore(AT_ONCE)

    async def run_command(
        self, argv: Sequence[str], *, stdin: str = "", approval: str | None = None
    ) -> Result:
        """Run one command in the sandbox."""
        judged = assess(argv)
        given = stdin.encode()
        name = digest(argv, judged.context, judged.namespace, stdin=given)
        facts = {"argv": list(argv), "risk": judged.level.name, "digest": name}

        def admitted() -> tuple[Any, tuple[str, ...]]:
            found = admit(self._policy.commands, argv)
            self._sandbox.isolation.require()
            self._approve(judged, name, approval)
            return found

        rule, words = await self._guarded("command", facts, admitted)
        command = Command(
            argv=words,
            stdin=given,
            network=rule.network,
            writable=judged.mutates,
            read=rule.read,
            environment=rule.environment,
        )
        self._log.append("command_started", facts)
        async with self._places:
            outcome = await self._finished("command", facts, self._sandbox.run(command))
        return _shown(outcome) | {"risk": judged.level.name}

    async def read_file(self, path: str, *, offset: int = 0, limit: int | None = None) -> Result:
        """Part of a file."""
        part = await self._on_files(
            "read_file", {"path": path}, lambda: self._files.read(path, offset=offset, limit=limit)
        )
        text = part.data.decode("utf-8", "replace")
        return {"content": text, "offset": part.offset, "bytes": len(part.data), "size": part.size}

    async def list_files(self, path: str = ".") -> Result:
        """The names of a folder."""
        entries = await self._on_files("list_files", {"path": path}, lambda: self._files.list(path))
        return {"entries": [{"name": one.name, "kind": one.kind, "size": one.size} for one in entries]}

    async def search_files(
        self, text: str, path: str = ".", *, ignore_case: bool = False, limit: int = 200
    ) -> Result:
        """Lines that hold a text."""
        most = max(1, min(limit, 1000))
        found = await self._on_files(
            "search_files",
            {"path": path, "text": text},
            lambda: search(self._files, text, path, ignore_case=ignore_case, limit=most),
        )
        hits = [{"path": hit.path, "line": hit.line, "text": hit.text} for hit in found.hits]
        return {"hits": hits, "complete": found.complete}

    async def write_file(self, path: str, content: str, *, approval: str | None = None) -> Result:
        """Put a file in place."""
        data = content.encode()
        await self._change(
            "write_file", {"path": path, "content": content}, approval, lambda: self._files.write(path, data)
        )
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    async def move_file(self, source: str, target: str, *, approval: str | None = None) -> Result:
        """Give a file another name."""
        arguments = {"source": source, "target": target}
        await self._change("move_file", arguments, approval, lambda: self._files.move(source, target))
        return {"moved": target}

    async def delete_file(self, path: str, *, approval: str | None = None) -> Result:
        """Remove a file."""
        await self._change("delete_file", {"path": path}, approval, lambda: self._files.delete(path))
        return {"deleted": path}

    async def system_info(self) -> Result:
        """What this machine is, and how commands are held."""
        isolation = self._sandbox.isolation
        return {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "workspace": self._sandbox.folder(),
            "execution": isolation.kind.value != "none",
            "isolation": isolation.kind.value,
            "isolation_detail": isolation.detail,
            "runs_as": self._sandbox.uid,
            "programs": sorted(self._policy.commands),
            "approval_from": NEEDS_APPROVAL.name,
        }

    async def _change(
        self, tool: str, arguments: Mapping[str, str], approval: str | None, act: Callable[[], None]
    ) -> None:
        argv = file_argv(tool, arguments)
        level = RiskLevel.CRITICAL if tool == "delete_file" else RiskLevel.HIGH
        judged = Assessment(level, "changes files", program=tool, mutates=True)
        name = digest(argv)
        facts = {"argv": list(argv), "risk": level.name, "digest": name}

        def approved() -> None:
            if self._policy.approve_writes:
                self._approve(judged, name, approval)

        await self._guarded(tool, facts, approved)
        self._log.append(f"{tool}_started", facts)
        await self._finished(tool, facts, asyncio.to_thread(act))

    async def _on_files(self, tool: str, facts: Mapping[str, Any], act: Callable[[], Done]) -> Done:
        return await self._finished(tool, facts, asyncio.to_thread(act))

    def _approve(self, judged: Assessment, name: str, approval: str | None) -> None:
        if judged.level < NEEDS_APPROVAL:
            return
        if not approval:
            raise Forbidden(
                f"This needs an approval ({judged.level.name}: {judged.reason}). Digest: {name}",
                remedy="Ask a person, then call again with the approval of exactly this.",
            )
        self._grants.redeem(approval, name)

    async def _guarded(self, tool: str, facts: Mapping[str, Any], check: Callable[[], Done]) -> Done:
        try:
            return await asyncio.to_thread(check)
        except KosmosError as error:
            self._log.append(f"{tool}_refused", {**facts, "reason": error.message})
            raise

    async def _finished(self, tool: str, facts: Mapping[str, Any], work: Awaitable[Done]) -> Done:
        try:
            done = await work
        except KosmosError as error:
            self._log.append(f"{tool}_failed", {**facts, "reason": error.message})
            raise
        ended = {"code": done.code, "ended": done.ended} if isinstance(done, Outcome) else {}
        self._log.append(f"{tool}_done", {**facts, **ended})
        return done


def _shown(outcome: Outcome) -> Result:
    return {
        "code": outcome.code,
        "ended": outcome.ended,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": outcome.stderr.decode("utf-8", "replace"),
        "stdout_truncated": outcome.stdout_truncated,
        "stderr_truncated": outcome.stderr_truncated,
        "seconds": round(outcome.seconds, 3),
    }


def open_calls(root: Path, *, state: Path, policy: Policy, grants_key: bytes | None) -> OsCalls:
    """Everything put together for one workspace; `state` holds the audit log and the used approvals."""
    from kosmos.sandbox.isolation import probe

    return OsCalls(
        Sandbox(root, probe(), limits=policy.limits),
        Workspace(root),
        policy=policy,
        grants=Grants(grants_key, state / "grants"),
        log=AuditLog(state / "audit.jsonl"),
    )
