"""The sandbox: runs an argv and nothing else, inside all layers or not at all."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kosmos.errors import ConfigError, EngineUnavailable, InvalidInput
from kosmos.sandbox.bubblewrap import INSIDE, View, arguments
from kosmos.sandbox.isolation import NOBODY, Isolation, Kind, identity
from kosmos.sandbox.limits import Layer, Limits, Outcome
from kosmos.sandbox.process import Start, in_memory, run_tree
from kosmos.sandbox.seccomp import filter_program

PATH = "/usr/local/bin:/usr/bin:/bin"
_MAX_ARGUMENTS, _MAX_ARGUMENT = 256, 64 * 2**10
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/dev/urandom",
)
_FOR_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates")


@dataclass(frozen=True, slots=True)
class Command:
    """One command and what it may have beyond the workspace."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    network: bool = False
    writable: bool = True
    read: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class Sandbox:
    """Runs commands over one workspace. `without` leaves layers out: only to prove what they are for."""

    def __init__(
        self,
        workspace: Path,
        isolation: Isolation,
        *,
        limits: Limits | None = None,
        without: frozenset[Layer] = frozenset(),
    ) -> None:
        self.workspace = workspace.resolve(strict=True)
        self.isolation = isolation
        self.limits = limits or Limits()
        self.without = without
        self.uid, self.gid = identity(self.workspace)

    def folder(self) -> str:
        """Where the workspace is for a command."""
        return str(self.workspace) if self.isolation.kind is Kind.LANDLOCK else INSIDE

    async def run(self, command: Command) -> Outcome:
        """Run the command to its end; EngineUnavailable when nothing here could hold it."""
        self.isolation.require()
        check_argv(command.argv)
        self._check_reach()
        if self.isolation.kind is Kind.BUBBLEWRAP:
            return await self._in_bubblewrap(command)
        return await self._in_landlock(command)

    async def _in_bubblewrap(self, command: Command) -> Outcome:
        view = View(
            workspace=self.workspace,
            uid=self.uid,
            gid=self.gid,
            network=command.network,
            writable=command.writable,
            read=command.read,
            without=self.without,
        )
        program = self._program_fd(command)
        told, tells = os.pipe()
        argv = [self.isolation.program, *arguments(view, self.limits, command.argv, (program, tells))]
        fds = (tells, program) if program >= 0 else (tells,)
        start = Start(argv, self._environment(command), fds, (self.uid, self.gid), command.stdin, told)
        try:
            outcome = await run_tree(start, self.limits)
        finally:
            os.close(told)
        return _checked(outcome, b"bwrap: ")

    async def _in_landlock(self, command: Command) -> Outcome:
        order = {
            "argv": command.argv,
            "cwd": str(self.workspace),
            "uid": NOBODY,
            "user": (self.uid, self.gid),
            "namespaces": ["user", "pid", "ipc", "uts", *([] if command.network else ["net"])],
            "network": command.network,
            "environment": self._environment(command),
            "read": [*_SYSTEM, *command.read, *(_FOR_NETWORK if command.network else ())]
            + ([] if command.writable else [str(self.workspace)]),
            "write": ["/dev/null", *([str(self.workspace)] if command.writable else [])],
            "limits": self.limits.named(),
            "seccomp": filter_program(network=command.network, local=False).hex(),
        }
        fd = in_memory(json.dumps(order).encode())
        argv = [sys.executable, "-I", "-S", "-c", _STARTER, str(fd)]
        start = Start(argv, {"PATH": PATH}, (fd,), None, command.stdin)
        return _checked(await run_tree(start, self.limits), b"sandbox: ")

    def _program_fd(self, command: Command) -> int:
        if Layer.SECCOMP in self.without:
            return -1
        network = command.network or Layer.NETWORK in self.without
        return in_memory(filter_program(network=network))

    def _environment(self, command: Command) -> dict[str, str]:
        # bubblewrap itself gets this too: its own environment can be read inside, in /proc/1/environ.
        # The workspace is no home: a `.kube/config` or `.gitconfig` in it would change what programs do.
        own = {"PATH": PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}  # noqa: S108
        if self.isolation.kind is Kind.LANDLOCK:
            own |= {"HOME": "/nonexistent", "TMPDIR": self.folder()}
        around = dict(os.environ) if Layer.ENVIRONMENT in self.without else {}
        return around | own | dict(command.environment)

    def _check_reach(self) -> None:
        """Whoever runs the commands must be able to enter the workspace; root sees no difference itself."""
        if os.geteuid() != 0:
            return
        for folder in (self.workspace, *self.workspace.parents):
            found = folder.stat()
            shift = 6 if found.st_uid == self.uid else 3 if found.st_gid == self.gid else 0
            if not found.st_mode >> shift & 0o1:
                raise ConfigError(
                    f"User {self.uid}, who runs the commands, cannot enter {folder}.",
                    remedy="Start this as the user who owns the workspace, or move the workspace.",
                )


_STARTER = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r}); "
    "from kosmos.sandbox.launcher import main; sys.exit(main(int(sys.argv[1])))"
)


def check_argv(argv: Sequence[str]) -> None:
    """InvalidInput unless this is an argv that the system could run: words, not a line of shell."""
    if not argv or not argv[0].startswith("/"):
        raise InvalidInput("A command needs the full path of its program.")
    if len(argv) > _MAX_ARGUMENTS or any(len(word) > _MAX_ARGUMENT for word in argv):
        raise InvalidInput("The command is too long.", remedy="Put long input into a file.")
    if any("\0" in word for word in argv):
        raise InvalidInput("A command cannot hold a NUL character.")


def _checked(outcome: Outcome, mark: bytes) -> Outcome:
    """A sandbox that could not be built is no result of the command."""
    if outcome.ended == "exit" and outcome.code in {1, 125} and outcome.stderr.startswith(mark):
        said = outcome.stderr.decode(errors="replace").strip()[:300]
        raise EngineUnavailable(f"The sandbox could not be built: {said}")
    return outcome
