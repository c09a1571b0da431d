"""How one fuzzer of inputs is run: in a process of its own, with a seed, a count and limits of time."""

import asyncio
import contextlib
import multiprocessing
import resource
import signal
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzzing.tally import Row, Tally
from kosmos.errors import KosmosError

CASE_SECONDS = 20.0  # of CPU, for a single case
MEMORY = 4 * 2**30
T = TypeVar("T")


class Broken(Exception):
    """An invariant does not hold."""


class TooSlow(BaseException):
    """A case took too much time; nothing on the way may catch it."""


@dataclass(frozen=True, slots=True)
class Fuzzer:
    """`check` gets a case, says in a word what came of it, and raises where the invariant is broken.

    A KosmosError is a refusal, which is always right; anything else that is raised is a finding.
    """

    name: str
    invariant: str
    cases: int
    make: Callable[[], st.SearchStrategy[Any]]
    check: Callable[[Any], str]


def require(holds: bool, what: str) -> None:
    """Raise Broken unless it holds."""
    if not holds:
        raise Broken(what)


_loops: list[asyncio.AbstractEventLoop] = []


def wait(work: Awaitable[T]) -> T:
    """What is waited for, in the one loop of this process."""
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    return _loops[0].run_until_complete(work)


def run(fuzzer: Fuzzer, count: int, seed: int, *, seconds: float) -> Tally:
    """The outcomes of so many cases, made in another process: one that ends early is a finding too."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    case = context.Value("i", 0)
    child = context.Process(target=_work, args=(fuzzer, count, seed, seconds, case, writing))
    child.start()
    writing.close()
    try:
        tally: Tally = reading.recv()
    except EOFError:
        tally = Tally()
        child.join()
        what = f"the process died with {child.exitcode}"
        tally.report(fuzzer.name, what, f"case {case.value} of seed {seed}")
    child.join()
    return tally


def _work(fuzzer: Fuzzer, count: int, seed: int, seconds: float, case: Any, writing: Any) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_slow)
    tally = fuzz(fuzzer, count, seed, seconds=seconds, case=case)
    writing.send(tally)


def _too_slow(*_: object) -> None:
    raise TooSlow


def fuzz(fuzzer: Fuzzer, count: int, seed: int, *, seconds: float, case: Any = None) -> Tally:
    """The outcomes of so many cases, or of as many as so many seconds of CPU suffice for."""
    tally, began = Tally(), time.process_time()

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(fuzzer.make())
    def one(given: Any) -> None:
        if time.process_time() < began + seconds:
            if case is not None:
                case.value += 1
            _judge(fuzzer, given, tally)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):
        one()
    tally.rows.setdefault(fuzzer.name, Row()).cpu = time.process_time() - began
    return tally


def _judge(fuzzer: Fuzzer, case: Any, tally: Tally) -> None:
    outcome, what = "finding", ""
    try:
        with _limited():
            outcome = fuzzer.check(case)
    except KosmosError:
        outcome = "refused"
    except Broken as error:
        what = str(error)
    except TooSlow:
        what = f"took more than {CASE_SECONDS:g} s"
    except Exception as error:  # noqa: BLE001  (that is what is looked for)
        what = _where(error)
    tally.count(fuzzer.name, outcome)
    if what:
        tally.report(fuzzer.name, what, f"{case!r}"[:1500])


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    if signal.getsignal(signal.SIGPROF) is not _too_slow:
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _where(error: Exception) -> str:
    """The error and the last place of ours on its way."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "kosmos" in frame.filename]
    place = f"{frames[-1].filename.rsplit('kosmos/', 1)[-1]}:{frames[-1].lineno}" if frames else "the fuzzer"
    return f"{type(error).__name__} in {place}: {str(error)[:120]}"
