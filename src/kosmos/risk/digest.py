"""The name of exactly one command, for approvals."""

import hashlib
import json
from collections.abc import Sequence

_FORM = "kosmos-argv-1"


def digest(argv: Sequence[str], context: str | None = None, namespace: str | None = None) -> str:
    """sha256 over a form in which no two different commands look alike."""
    form = json.dumps([_FORM, list(argv), context, namespace], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(form.encode("ascii")).hexdigest()
