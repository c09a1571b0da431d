"""What a caller knows about a source that its bytes do not say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hints:
    """Where a page came from and how its site marks content.

    `content` are CSS selectors, the first that matches wins; `noise` are selectors of what is dropped in
    addition to the usual navigation; `charset` is what the server declared.
    """

    url: str = ""
    charset: str = ""
    content: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
