"""How many tokens a text has, roughly, without any model's vocabulary."""

import re

_WIDE = re.compile(r"[\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_BLANK = re.compile(r"\s+")


def estimate_tokens(text: str) -> int:
    """One token for each East Asian character, one for each four other visible characters."""
    wide = len(_WIDE.findall(text))
    visible = len(_BLANK.sub("", text))
    return wide + -(-(visible - wide) // 4)
