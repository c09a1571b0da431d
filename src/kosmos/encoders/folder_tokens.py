"""The tokenizers of model folders."""

from typing import Any, Protocol

from kosmos.encoders.folder_card import FolderCard
from kosmos.errors import ConfigError

EXTRA = "pip install 'kosmos[models]'"


class Tokens(Protocol):
    """A tokenizer: the tokens of a text with those marks that the model wants around them."""

    special: frozenset[int]

    def __call__(self, text: str) -> list[int]:
        """The tokens of a text."""


def open_tokenizer(card: FolderCard) -> Tokens:
    """The tokenizer of a folder."""
    path = card.folder / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(f"{card.folder} has no tokenizer.json.", remedy="Get all files of the model.")
    try:
        import tokenizers
    except ImportError:
        raise ConfigError(f"The tokenizer of {card.folder} needs an extra.", remedy=f"Run: {EXTRA}") from None
    return FastTokens(tokenizers.Tokenizer.from_file(str(path)), card.max_tokens)


class FastTokens:
    """A tokenizer of the `tokenizers` package."""

    def __init__(self, tokenizer: Any, limit: int) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(limit)
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self.special = frozenset(number for number, token in added.items() if token.special)

    def __call__(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer.encode(text).ids
        return tokens or [0]
