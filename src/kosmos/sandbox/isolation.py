"""What this machine has to hold a command: bubblewrap, or Landlock and namespaces, or nothing."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kosmos.errors import EngineUnavailable
from kosmos.sandbox import landlock, seccomp
from kosmos.sandbox.bubblewrap import LIMITER

NOBODY = 65534
_SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin"
REMEDY = "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap) and allow user namespaces."


class Kind(StrEnum):
    """How commands are held."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Isolation:
    """What was found, and the words for it."""

    kind: Kind
    detail: str
    program: str = ""  # where bubblewrap is

    def require(self) -> None:
        """EngineUnavailable when commands cannot be held: then none is run."""
        if self.kind is Kind.NONE:
            raise EngineUnavailable(f"Commands are not run here: {self.detail}", remedy=REMEDY)


def identity(workspace: Path) -> tuple[int, int]:
    """Who runs the commands: ourselves, or, when we are root, the owner of the workspace, or nobody."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    found = workspace.stat()
    return (found.st_uid, found.st_gid) if found.st_uid != 0 else (NOBODY, NOBODY)


def probe(*, bubblewrap: bool = True, fallback: bool = True) -> Isolation:
    """Try what there is, as it will be used."""
    if not sys.platform.startswith("linux") or not seccomp.supports():
        return Isolation(Kind.NONE, "only Linux on x86-64 and ARM64 has what is needed.")
    program = shutil.which("bwrap", path=_SYSTEM_PATH) if bubblewrap else None
    problem = _try_bubblewrap(program) if program else "bubblewrap is not installed"
    if program and not problem:
        return Isolation(Kind.BUBBLEWRAP, _version(program), program)
    version = landlock.abi() if fallback else 0
    if version >= landlock.MINIMUM and not _try_namespaces():
        return Isolation(Kind.LANDLOCK, f"Landlock {version} with namespaces; {problem}")
    lacking = "there is no Landlock either" if version < landlock.MINIMUM else "namespaces are not allowed"
    return Isolation(Kind.NONE, f"{problem}, and {lacking}.")


def _try_bubblewrap(program: str) -> str:
    return _try(
        program,
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--ro-bind",
        "/",
        "/",
        LIMITER,
        "--core=0",
        "true",
    )


def _try_namespaces() -> str:
    code = "import ctypes,sys; sys.exit(ctypes.CDLL(None).unshare(0x7C000000) != 0)"
    return _try(sys.executable, "-I", "-S", "-c", code)


def _try(*argv: str) -> str:
    try:
        done = subprocess.run(argv, env={"PATH": _SYSTEM_PATH}, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{Path(argv[0]).name} does not run ({error})"
    said = done.stderr.decode(errors="replace").strip()[:200]
    return "" if done.returncode == 0 else f"{Path(argv[0]).name} does not work ({said or done.returncode})"


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], env={}, capture_output=True, timeout=10, check=False)
    return done.stdout.decode(errors="replace").strip()
