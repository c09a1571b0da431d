"""Archives within limits, whatever they say about themselves."""

import io
import zipfile

import pytest

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.archives import MAX_MEMBERS, Archive, member_names


def _zip(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_members_are_read() -> None:
    archive = Archive(_zip(a=b"one", b=b"two"), "x.epub")
    assert sorted(archive.members) == ["a", "b"]
    assert archive.read("b") == b"two"


def test_a_bomb_is_stopped_while_it_unpacks() -> None:
    data = _zip(bomb=b"\x00" * 3_000_000)
    assert len(data) < 10_000
    with pytest.raises(TooLarge, match="more than"):
        Archive(data, "x.epub").read("bomb", most=1_000_000)


def test_many_small_members_count_together() -> None:
    archive = Archive(_zip(a=b"x" * 600, b=b"y" * 600), "x.epub", most=1000)
    archive.read("a")
    with pytest.raises(TooLarge):
        archive.read("b")


def test_a_size_that_lies_is_found_out() -> None:
    data = bytearray(_zip(bomb=b"\x00" * 100_000))
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    with pytest.raises(InvalidInput, match="damaged"):
        Archive(bytes(data), "x").read("bomb", most=50_000)


@pytest.mark.parametrize("cut", [10, 50, 100])
def test_damage_is_a_refusal(cut: int) -> None:
    data = _zip(a=b"one" * 100)
    with pytest.raises(InvalidInput, match="damaged"):
        Archive(data[:-cut], "x.epub").read("a")


def test_a_missing_member_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"lacks content\.opf"):
        Archive(_zip(a=b""), "x.epub").read("content.opf")


def test_too_many_members_are_refused_before_they_are_listed() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(MAX_MEMBERS + 1):
            archive.writestr(str(number), b"")
    assert len(member_names(buffer.getvalue())) == MAX_MEMBERS
    with pytest.raises(TooLarge, match="more than"):
        Archive(buffer.getvalue(), "x.epub")
