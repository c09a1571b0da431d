"""A seccomp filter, assembled by hand: system calls that a command has no use for are refused.

The file tree, the network and the rights are the work of namespaces; the filter keeps a command away
from the parts of the kernel in which the ways out of namespaces have been found.
"""

import errno
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # calls of x86-64 with short pointers: the same numbers with this bit
_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NAMESPACES = 0x7E020000  # CLONE_NEW*
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE
_UNIX, _INET, _INET6 = 1, 2, 10

_COMMON = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
    "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "fchmodat2": 452, "open_tree_attr": 467,
}  # fmt: skip
_NUMBERS = {
    "x86_64": {
        "open": 2, "ioctl": 16, "shmget": 29, "socket": 41,
        "socketpair": 53, "clone": 56, "creat": 85, "chmod": 90,
        "fchmod": 91, "ptrace": 101, "syslog": 103, "mknod": 133, "uselib": 134, "personality": 135,
        "ustat": 136, "sysfs": 139, "vhangup": 153, "pivot_root": 155, "sysctl": 156, "adjtimex": 159,
        "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
        "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
        "init_module": 175, "delete_module": 176, "quotactl": 179, "lookup_dcookie": 212,
        "clock_settime": 227, "mbind": 237, "kexec_load": 246, "add_key": 248, "request_key": 249,
        "keyctl": 250, "migrate_pages": 256, "openat": 257, "mknodat": 259, "fchmodat": 268, "unshare": 272,
        "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
        "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319,
        "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, **_COMMON,
    },
    "aarch64": {
        "lookup_dcookie": 18, "ioctl": 29, "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41,
        "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58, "quotactl": 60, "acct": 89,
        "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106,
        "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161,
        "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "shmget": 194, "socket": 198,
        "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225,
        "mbind": 235, "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273,
        "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294, **_COMMON,
    },
}  # fmt: skip
# Not there at all, as far as a program can tell: it then takes the older call, which can be checked.
_ABSENT = frozenset({"clone3", "openat2", "fchmodat2", "memfd_create"})
_CHECKED = frozenset(
    {
        "ioctl",
        "socket",
        "socketpair",
        "clone",
        "personality",
        "open",
        "openat",
        "creat",
        "chmod",
        "fchmod",
        "fchmodat",
    }
    | {"mknod", "mknodat"}
)


@dataclass(frozen=True, slots=True)
class Test:
    """A test of the low half of one argument: some bits are set, or it is not one of the values."""

    argument: int
    bits: int = 0
    equal: int | None = None
    outside: tuple[int, ...] = ()


Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def supports(machine: str | None = None) -> bool:
    """Whether there is a filter for this kind of machine."""
    return (machine or platform.machine()) in _ARCHES


def filter_program(*, network: bool, local: bool = True, machine: str | None = None) -> bytes:
    """The filter as the kernel takes it: `struct sock_filter` after `struct sock_filter`.

    `local`: whether the file tree and the network are its own, so that local sockets lead nowhere else.
    """
    machine = machine or platform.machine()
    numbers = _NUMBERS[machine]
    program: list[Instruction] = [
        (_LOAD, 0, 0, 4),
        (_JEQ, 1, 0, _ARCHES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    if machine == "x86_64":
        program += [(_JGE, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name, number in numbers.items():
        if name not in _CHECKED:
            program += [(_JEQ, 0, 1, number), (_RETURN, 0, 0, _refusal(name))]
    for name, tests in _rules(network, local):
        if name in numbers:
            program += _block(numbers[name], tests)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _rules(network: bool, local: bool) -> list[tuple[str, tuple[Test, ...]]]:
    # With the host's network, local sockets would reach the host's abstract ones.
    families = (_INET, _INET6) if network else (_UNIX,) if local else ()
    return [
        ("socket", (Test(0, outside=families),)),
        ("socketpair", (Test(1, bits=2),)),  # one end of a datagram pair can send to any local socket
        ("clone", (Test(0, bits=_NAMESPACES),)),
        ("ioctl", (Test(1, equal=0x5412),)),  # TIOCSTI: types into a terminal
        ("ioctl", (Test(1, equal=0x541C),)),  # TIOCLINUX: pastes into one
        ("personality", (Test(0, outside=(0, 0xFFFFFFFF)),)),
        ("chmod", (Test(1, bits=_SET_ID),)),
        ("fchmod", (Test(1, bits=_SET_ID),)),
        ("fchmodat", (Test(2, bits=_SET_ID),)),
        ("creat", (Test(1, bits=_SET_ID),)),
        ("open", (Test(1, bits=_CREATES), Test(2, bits=_SET_ID))),
        ("openat", (Test(2, bits=_CREATES), Test(3, bits=_SET_ID))),
        ("mknod", (Test(1, bits=_SET_ID),)),
        ("mknodat", (Test(2, bits=_SET_ID),)),
        ("mknod", (Test(1, bits=0o020000),)),  # devices; pipes and sockets lack this bit
        ("mknodat", (Test(2, bits=0o020000),)),
    ]


def _refusal(name: str) -> int:
    return _ERRNO | (errno.ENOSYS if name in _ABSENT else errno.EPERM)


def _block(number: int, tests: Sequence[Test]) -> list[Instruction]:
    """Refuse the call when all tests hold; otherwise go on behind the block."""
    body: list[Instruction] = [(_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    for test in reversed(tests):
        body = [(_LOAD, 0, 0, 16 + 8 * test.argument), *_test(test, len(body)), *body]
    return [(_LOAD, 0, 0, 0), (_JEQ, 0, len(body), number), *body]


def _test(test: Test, beyond: int) -> list[Instruction]:
    """Fall through when the test holds, jump over `beyond` instructions when it does not."""
    if test.bits:
        return [(_JSET, 0, beyond, test.bits)]
    if test.equal is not None:
        return [(_JEQ, 0, beyond, test.equal)]
    count = len(test.outside)
    return [(_JEQ, beyond + count - 1 - at, 0, value) for at, value in enumerate(test.outside)]
