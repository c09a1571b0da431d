"""How many tokens a text has, roughly, without any model's vocabulary."""

import re

_WIDE = re.compile(r"[\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


def estimate_tokens(text: str) -> int:
    """One token for each East Asian character, one for each four other visible characters."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    visible = len("".join(text.split()))
    return wide + -(-(visible - wide) // 4)
