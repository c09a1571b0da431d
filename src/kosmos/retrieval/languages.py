"""In which language a text is, as the index says it."""

from kosmos.domain import language

_CODES = {"Chinese": "zh", "English": "en"}


def language_of(text: str) -> str:
    """`zh` or `en`."""
    return _CODES[language.language_of(text)]
