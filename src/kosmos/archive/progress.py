"""How those who wait are told."""

from collections.abc import Callable

Step = Callable[[int, int, str], None]  # done, of how many, what


def say_nothing(_done: int, _total: int, _what: str) -> None:
    """For those who do not look."""
