"""How much one command may use, and the layers that hold it."""

from dataclasses import dataclass
from enum import StrEnum


class Layer(StrEnum):
    """One measure each. They can be left out one by one to prove that each of them is needed."""

    MOUNTS = "mounts"  # a file tree of its own
    PROCESSES = "processes"  # a process tree of its own, which ends with its first process
    NETWORK = "network"  # a network of its own, with nothing in it
    USERS = "users"  # no further namespaces inside
    SECCOMP = "seccomp"  # system calls that nobody needs are refused
    LIMITS = "limits"  # memory, processes, files
    ENVIRONMENT = "environment"  # nothing of the launcher's environment
    SESSION = "session"  # no terminal of the launcher


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one command may use."""

    seconds: float = 30.0
    cpu_seconds: int = 30
    memory_bytes: int = 512 * 2**20  # private memory of each process
    address_bytes: int = 8 * 2**30  # address space of each process; Go and Java reserve much of it
    processes: int = 64
    file_bytes: int = 64 * 2**20
    open_files: int = 256
    scratch_bytes: int = 64 * 2**20  # /tmp
    output_bytes: int = 256 * 2**10  # kept of each stream
    drain_bytes: int = 64 * 2**20  # read and thrown away beyond that before the command is ended

    def named(self) -> tuple[tuple[str, int], ...]:
        """The limits that the system enforces on each process, by the names that prlimit has for them."""
        return (
            ("cpu", self.cpu_seconds),
            ("data", self.memory_bytes),
            ("as", self.address_bytes),
            ("nproc", self.processes),
            ("fsize", self.file_bytes),
            ("nofile", self.open_files),
            ("core", 0),
            ("memlock", 64 * 2**10),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended and what it said."""

    code: int  # exit code; 128 + signal when a signal ended it
    stdout: bytes
    stderr: bytes
    ended: str = "exit"  # exit, deadline, or output: who ended it
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    seconds: float = 0.0
