"""What encoding costs reaches whoever asked for it, without passing through every function in between."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kosmos.domain.jobs import Spent

_listener: ContextVar[Callable[[Spent], None] | None] = ContextVar("encoder_spending", default=None)


@contextmanager
def spending_told(listener: Callable[[Spent], None]) -> Iterator[None]:
    """Inside the block, what encoders spend is told to the listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell_spending(spent: Spent) -> None:
    """Tell what was spent to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(spent)
