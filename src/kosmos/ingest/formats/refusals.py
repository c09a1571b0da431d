"""One way to say that a file cannot be read, whatever its library throws."""

from collections.abc import Iterator
from contextlib import contextmanager

from kosmos.errors import InvalidInput, KosmosError, TooLarge

SAVE_AGAIN = "Open it in the program that made it, save it again, and add the new file."


@contextmanager
def reading(name: str, kind: str) -> Iterator[None]:
    """Within it, every error of a library becomes a plain reason why this file cannot be read."""
    try:
        yield
    except KosmosError:
        raise
    except MemoryError:
        raise TooLarge(f"{name} needs more memory than allowed.", remedy="Split it into parts.") from None
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply to be read.", remedy=SAVE_AGAIN) from None
    except (Exception, BaseException) as error:
        if not is_failure(error):
            raise
        raise InvalidInput(f"{name} is not a {kind} that can be read.", remedy=SAVE_AGAIN) from error


def is_failure(error: BaseException) -> bool:
    """Whether this is an error of a library; a panic of a Rust one does not derive from Exception."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def needs_extra(name: str, kind: str, extra: str) -> InvalidInput:
    """Why a file cannot be read before an extra is installed."""
    return InvalidInput(
        f"{name} is a {kind}, and what reads it is not installed.",
        remedy=f"Run: pip install 'kosmos[{extra}]'",
    )
