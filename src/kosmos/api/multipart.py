"""Multipart bodies (RFC 7578), cut into their parts as they come in: nothing is kept but a line or two."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote

from kosmos.errors import InvalidInput

MAX_HEAD = 16 * 1024
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_PARAMETER = re.compile(r""";\s*([\w.-]+\*?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))""")
_ESCAPED = re.compile(r'\\(["\\])')
_REMEDY = 'Send the files as `curl -F "file=@notes.md"` does, or one file with ?filename=notes.md.'


@dataclass(frozen=True, slots=True)
class PartHead:
    """What a part says about itself: the field it belongs to, and the name of the file if it is one."""

    field: str
    filename: str | None


class _State(Enum):
    PREAMBLE = 0
    BOUNDARY = 1  # just behind one
    HEAD = 2
    BODY = 3
    END = 4


class MultipartReader:
    """Fed with pieces of a body, gives the head of each part and then its content, piece by piece."""

    def __init__(self, content_type: str) -> None:
        self._delimiter = b"\r\n--" + boundary_of(content_type).encode()
        # The first boundary may stand at the very start: as if a line had ended before it.
        self._rest = b"\r\n"
        self._state = _State.PREAMBLE

    def feed(self, data: bytes) -> Iterator[PartHead | bytes]:
        """What more of the body brings."""
        self._rest += data
        going = True
        while going:
            if self._state in (_State.PREAMBLE, _State.BODY):
                inside = self._state is _State.BODY
                content, going = self._to_boundary()
                if content and inside:
                    yield content
            elif self._state is _State.BOUNDARY:
                going = self._behind_boundary()
            elif self._state is _State.HEAD:
                head = self._head()
                going = head is not None
                if head is not None:
                    yield head
            else:
                self._rest, going = b"", False

    def finish(self) -> None:
        """The body is over: InvalidInput when its last boundary has not come."""
        if self._state is not _State.END:
            raise _broken("it ends in the middle")

    def _to_boundary(self) -> tuple[bytes, bool]:
        """The content up to a boundary, or as much of it as surely holds none."""
        position = self._rest.find(self._delimiter)
        if position >= 0:
            content, self._rest = self._rest[:position], self._rest[position + len(self._delimiter) :]
            self._state = _State.BOUNDARY
            return content, True
        # All but what may be the beginning of a boundary.
        cut = max(0, len(self._rest) - len(self._delimiter) + 1)
        content, self._rest = self._rest[:cut], self._rest[cut:]
        return content, False

    def _behind_boundary(self) -> bool:
        if self._rest.startswith(b"--"):
            self._state = _State.END
            return True
        padding = len(self._rest) - len(self._rest.lstrip(b" \t"))
        if padding > MAX_HEAD:
            raise _broken("a boundary is followed by blanks without end")
        behind = self._rest[padding : padding + 2]
        if behind == b"\r\n":
            # The line break stays: a head without lines ends at once.
            self._rest, self._state = self._rest[padding:], _State.HEAD
            return True
        if (len(behind) < 2 and b"\r\n".startswith(behind)) or self._rest == b"-":
            return False
        raise _broken("a boundary stands in the middle of a line")

    def _head(self) -> PartHead | None:
        end = self._rest.find(b"\r\n\r\n")
        if end > MAX_HEAD or (end < 0 and len(self._rest) > MAX_HEAD):
            raise _broken("the head of a part is too long")
        if end < 0:
            return None
        lines, self._rest = self._rest[2:end], self._rest[end + 4 :]
        self._state = _State.BODY
        return parse_head(lines)


def boundary_of(content_type: str) -> str:
    """What stands between the parts, as the header of the request names it."""
    kind, _, parameters = content_type.partition(";")
    boundary = _parameters(f";{parameters}").get("boundary", "")
    if kind.strip().lower() != "multipart/form-data" or not _BOUNDARY.fullmatch(boundary):
        raise InvalidInput("The content type names no boundary between files.", remedy=_REMEDY)
    return boundary


def parse_head(lines: bytes) -> PartHead:
    """The head of a part, or InvalidInput."""
    try:
        named = [line.partition(":") for line in lines.decode().split("\r\n")]
    except UnicodeDecodeError:
        raise _broken("a file name is not UTF-8") from None
    headers = {name.strip().lower(): value.strip() for name, _, value in named}
    if headers.get("content-transfer-encoding", "binary").lower() not in ("binary", "8bit", "7bit"):
        raise _broken("a part is encoded")
    kind, _, parameters = headers.get("content-disposition", "").partition(";")
    found = _parameters(f";{parameters}")
    if kind.strip().lower() != "form-data" or "name" not in found:
        raise _broken("a part has no name")
    return PartHead(found["name"], _filename(found))


def _filename(found: dict[str, str]) -> str | None:
    charset, _, rest = found.get("filename*", "").partition("'")
    if charset.lower() == "utf-8":
        return unquote(rest.partition("'")[2])
    # Browsers write %22 for a quotation mark, and nothing else is coded.
    return found["filename"].replace("%22", '"') if "filename" in found else None


def _parameters(text: str) -> dict[str, str]:
    """`; name=value` pairs, values perhaps in quotation marks; of two with one name the first counts."""
    found: dict[str, str] = {}
    for name, quoted, plain in _PARAMETER.findall(text):
        found.setdefault(name.lower(), _ESCAPED.sub(r"\1", quoted) or plain)
    return found


def _broken(reason: str) -> InvalidInput:
    return InvalidInput(f"The body is not what its content type says: {reason}.", remedy=_REMEDY)
