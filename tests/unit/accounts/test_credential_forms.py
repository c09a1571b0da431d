"""What may be given as the address of a model, and that a new credential never shows its key."""

import traceback

import pytest

from kosmos.accounts.credentials import NewCredential, check_url
from kosmos.domain.credentials import CredentialType
from kosmos.errors import InvalidInput

KEY = "sk-secret-of-a-test-0123456789"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        ("  https://api.example.com//\n", "https://api.example.com"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("HTTPS://API.example.com/V1", "HTTPS://API.example.com/V1"),
        ("http://模型.example.com/v1", "http://模型.example.com/v1"),
        ("http://host/a%20b/v1", "http://host/a%20b/v1"),
        ("http://my_host:1/v1", "http://my_host:1/v1"),
    ],
)
def test_addresses_that_can_be_called_are_kept(given: str, kept: str) -> None:
    assert check_url(given) == kept
    assert check_url(kept) == kept


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            " ",
            "/",
            "v1",
            "localhost:11434",
            "//host/v1",
            "http:",
            "http://",
            "http:///v1",
            "http:host/v1",
        ),
        *("ftp://host/v1", "file:///etc/passwd", "javascript:alert(1)", "unix:///var/run/x.sock"),
        *("http://host:0/v1", "http://host:65536", "http://host:-1", "http://host:http", "http://:80/v1"),
        *("http://[::1/v1", "http://[nonsense]/v1", "http://999.999.999.999/v1", "http://１２７.0.0.1/v1"),
        *("http://ho st/v1", "http://host/a b", "http://host/\tv1", "http://ho\nst/v1", "http://host/\x00"),
        *(
            "http://host/\x7f",
            "http://host/\ud800",
            "http://\ud800/v1",
            "http://h\u00a0x/v1",
            "http://h\u2028x/",
        ),
        f"http://host/{'v' * 2000}",
    ],
)
def test_addresses_that_cannot_be_called_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="base URL") as caught:
        check_url(url)
    assert "http://127.0.0.1:11434/v1" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{KEY}@host/v1",
        f"https://{KEY}@host/v1",
        "https://@host/v1",
        f"https://host/v1?key={KEY}",
        f"https://host/v1#{KEY}",
        "https://host/v1?",
        "https://host/v1#",
    ],
)
def test_an_address_holds_no_secrets_and_the_refusal_repeats_none(url: str) -> None:
    with pytest.raises(InvalidInput, match="no user, query or fragment") as caught:
        check_url(url)
    assert KEY not in "".join(traceback.format_exception(caught.value)) + (caught.value.remedy or "")


def test_a_new_credential_does_not_show_its_key() -> None:
    new = NewCredential(name="n", type=CredentialType.LLM, base_url="http://h", model="m", key=KEY)
    assert KEY not in repr(new) + str(new) + f"{new}"
    assert new.key == KEY
