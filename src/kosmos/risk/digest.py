"""The name of exactly one command, for approvals."""

import hashlib
import json
from collections.abc import Sequence

_FORM = "kosmos-argv-1"


def digest(
    argv: Sequence[str], context: str | None = None, namespace: str | None = None, *, stdin: bytes = b""
) -> str:
    """sha256 over a form in which no two different commands look alike; what they are fed belongs to them."""
    parts: list[object] = [_FORM, list(argv), context, namespace]
    if stdin:
        parts.append(hashlib.sha256(stdin).hexdigest())
    form = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(form.encode("ascii")).hexdigest()
