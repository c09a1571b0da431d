"""The command line of bubblewrap: what a command sees of this machine."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kosmos.sandbox.limits import Layer, Limits

INSIDE = "/workspace"
LIMITER = "/usr/bin/prlimit"
_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ALWAYS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_FOR_NETWORK: tuple[str, ...] = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/ca-certificates",
)
_FOR_NETWORK += ("/etc/pki",)


@dataclass(frozen=True, slots=True)
class View:
    """What one command sees."""

    workspace: Path
    uid: int
    gid: int
    network: bool = False
    writable: bool = True
    read: tuple[str, ...] = ()  # further paths, read only, where they are
    without: frozenset[Layer] = frozenset()


def arguments(view: View, limits: Limits, argv: Sequence[str], fds: tuple[int, int]) -> list[str]:
    """The arguments for bubblewrap. `fds`: the seccomp program (or -1), and where to tell who is first."""
    program, told = fds
    made = [*_namespaces(view), "--uid", str(view.uid), "--gid", str(view.gid), "--die-with-parent"]
    made += ["--cap-drop", "ALL", "--info-fd", str(told)]
    if Layer.SESSION not in view.without:
        made += ["--new-session"]
    if program >= 0:
        made += ["--seccomp", str(program)]
    argv = [*_limiter(limits), *argv] if Layer.LIMITS not in view.without else argv
    if Layer.MOUNTS in view.without:
        return [*made, *_open_tree(view), "--chdir", f"/mnt{INSIDE}", "--", *argv]
    return [*made, *_tree(view, limits), "--chdir", INSIDE, "--", *argv]


def _limiter(limits: Limits) -> list[str]:
    """Set inside, since there only the processes of this sandbox count, not all of this user."""
    return [LIMITER, *(f"--{name}={value}" for name, value in limits.named()), "--"]


def _namespaces(view: View) -> list[str]:
    made = [
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
    ]
    if Layer.USERS not in view.without:
        made.append("--disable-userns")
    if Layer.PROCESSES not in view.without:
        made.append("--unshare-pid")
    if not view.network and Layer.NETWORK not in view.without:
        made.append("--unshare-net")
    return made


def _tree(view: View, limits: Limits) -> list[str]:
    made = ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dir", "/dev"]
    for name in _LINKED:
        made += _system_folder(f"/{name}")
    for name in _DEVICES:
        made += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    made += ["--symlink", "/proc/self/fd", "/dev/fd", "--size", str(limits.scratch_bytes), "--tmpfs", "/tmp"]  # noqa: S108
    made += _bind_read((*_ALWAYS, *(_FOR_NETWORK if view.network else ()), *view.read))
    made += ["--bind" if view.writable else "--ro-bind", str(view.workspace), INSIDE]
    return [*made, "--remount-ro", "/"]


def _open_tree(view: View) -> list[str]:
    """The whole machine, read only: what a command would see without the layer of mounts."""
    return ["--ro-bind", "/", "/", "--tmpfs", "/mnt", "--bind", str(view.workspace), f"/mnt{INSIDE}"]


def _system_folder(path: str) -> list[str]:
    if Path(path).is_symlink():
        return ["--symlink", os.readlink(path), path]  # noqa: PTH115
    return ["--ro-bind", path, path] if Path(path).is_dir() else []


def _bind_read(paths: Iterable[str]) -> list[str]:
    made: list[str] = []
    for path in paths:
        made += ["--ro-bind-try", path, path]
    return made
