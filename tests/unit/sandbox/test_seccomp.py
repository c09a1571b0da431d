"""The filter, run by a small machine of our own: what it refuses and what it lets through."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.sandbox.seccomp import filter_program, supports

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
X86, ARM = 0xC000003E, 0xC00000B7


def _run(program: bytes, number: int, args: tuple[int, ...] = (), arch: int = X86) -> int:
    data = struct.pack("<IIQ6Q", number, arch, 0, *(args + (0,) * 6)[:6])
    code, at, value = list(struct.iter_unpack("HBBI", program)), 0, 0
    while True:
        operation, yes, no, operand = code[at]
        at += 1
        if operation == 0x20:
            value = struct.unpack_from("<I", data, operand)[0]
        elif operation == 0x06:
            return int(operand)
        else:
            held = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
            at += yes if held else no


CLOSED, OPEN = (filter_program(network=network, machine="x86_64") for network in (False, True))


@pytest.mark.parametrize(
    ("number", "args", "expected"),
    [
        (0, (), ALLOW),  # read
        (59, (), ALLOW),  # execve
        (165, (), EPERM),  # mount
        (101, (), EPERM),  # ptrace
        (425, (), EPERM),  # io_uring_setup
        (435, (), ENOSYS),  # clone3
        (56, (17,), ALLOW),  # fork
        (56, (0x10000011,), EPERM),  # clone into a user namespace
        (41, (1,), ALLOW),  # local socket
        (41, (2,), EPERM),  # TCP
        (41, (40,), EPERM),  # vsock
        (41, (1 | 1 << 32,), ALLOW),  # the kernel looks at the low half only, and so does the filter
        (41, (2 | 1 << 32,), EPERM),
        (53, (1, 1), ALLOW),  # pair of streams
        (53, (1, 2 | 0x80000), EPERM),  # pair of datagrams
        (16, (0, 0x5412), EPERM),
        (16, (0, 0x5412 | 1 << 32), EPERM),
        (16, (0, 0x5401), ALLOW),
        (135, (0,), ALLOW),
        (135, (0xFFFFFFFF,), ALLOW),
        (135, (0x40000,), EPERM),
        (90, (0, 0o755), ALLOW),
        (90, (0, 0o4755), EPERM),
        (257, (0, 0, 0, 0o4755), ALLOW),  # nothing is made: the mode means nothing
        (257, (0, 0, 0o101, 0o4755), EPERM),
        (133, (0, 0o010644), ALLOW),  # pipe
        (133, (0, 0o020644), EPERM),  # device
        (133, (0, 0o060644), EPERM),
    ],
)
def test_calls(number: int, args: tuple[int, ...], expected: int) -> None:
    assert _run(CLOSED, number, args) == expected


def test_with_the_network_there_are_no_local_sockets() -> None:
    assert [_run(OPEN, 41, (family,)) for family in (1, 2, 10, 16, 40)] == [EPERM, ALLOW, ALLOW, EPERM, EPERM]
    shared = filter_program(network=False, local=False, machine="x86_64")
    assert [_run(shared, 41, (family,)) for family in (1, 2, 10)] == [EPERM] * 3


@settings(deadline=None)
@given(st.integers(0, 500), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_other_architectures_are_ended_whatever_they_ask(number: int, args: list[int]) -> None:
    assert _run(CLOSED, number, tuple(args), arch=0x40000003) == KILL
    assert _run(CLOSED, number | 0x40000000, tuple(args)) == KILL
    assert _run(CLOSED, number, tuple(args)) in {ALLOW, EPERM, ENOSYS}


def test_arm_has_numbers_of_its_own() -> None:
    program = filter_program(network=False, machine="aarch64")
    assert _run(program, 40, arch=ARM) == EPERM
    assert _run(program, 40, arch=X86) == KILL
    assert _run(program, 198, (1,), arch=ARM) == ALLOW
    assert not supports("riscv64")
    assert (
        max(len(filter_program(network=True, machine=machine)) for machine in ("x86_64", "aarch64"))
        < 4096 * 8
    )
