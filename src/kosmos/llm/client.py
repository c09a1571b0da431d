"""Calls to OpenAI-compatible endpoints, with errors named by their consequence."""

import asyncio
import math
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import httpx2

from kosmos.domain.credentials import Credential, CredentialType
from kosmos.errors import (
    CredentialUnusable,
    FetchFailed,
    FetchRefused,
    ProviderBusy,
    ProviderRejected,
    ProviderUnavailable,
)

if TYPE_CHECKING:
    import openai

_USELESS = frozenset({401, 402, 403, 404})  # whatever is asked: key, account, rights or model are wrong
_NO_KEY = "none"  # local servers want no key, but the client insists on a value


@dataclass(frozen=True, slots=True)
class Probe:
    """What a test call to a credential brought."""

    model: str
    detail: str


@asynccontextmanager
async def client_for(
    credential: Credential,
    key: str | None,
    seconds: float,
    *,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> "AsyncIterator[openai.AsyncOpenAI]":
    """A client that gives up by itself and never retries: retrying is decided above."""
    import openai

    async with named_errors(credential):
        client = openai.AsyncOpenAI(
            base_url=credential.base_url,
            api_key=key or _NO_KEY,
            timeout=seconds,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(verify=_trusted(), transport=transport),
        )
        async with client:
            yield client


def warm_up() -> None:
    """Load what the first call would wait for: the client library takes a second."""
    import openai  # noqa: F401

    _trusted()


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: reading them stops the event loop for some 50 ms."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def named_errors(credential: Credential) -> AsyncIterator[None]:
    """Turn what the client library raises into our errors, without the key or the answer's text.

    The causes are cut off: they quote the answer, which may repeat the key, and tracebacks are logged.
    """
    import openai

    who = f"{credential.name} ({credential.model})"
    check = f"Check it with: kosmos credentials test {credential.name}"
    try:
        yield
    except openai.RateLimitError as error:
        raise ProviderBusy(f"{who} asks to slow down.", retry_after=_retry_after(error.response)) from None
    except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError):
        raise ProviderUnavailable(f"{who} did not answer in time.", remedy=check) from None
    except FetchRefused as error:
        raise ProviderRejected(f"{who}: {error.message}", remedy=error.remedy) from None
    except (openai.APIConnectionError, httpx2.TransportError, FetchFailed):
        raise ProviderUnavailable(
            f"{who} cannot be reached at {credential.base_url}.", remedy=check
        ) from None
    except httpx2.InvalidURL:
        raise CredentialUnusable(f"{who} has an address that cannot be used.", remedy="Correct it.") from None
    except openai.AuthenticationError:
        raise CredentialUnusable(f"{who} refused the key.", remedy="Store a valid key for it.") from None
    except openai.APIStatusError as error:
        if error.status_code >= 500:
            raise ProviderUnavailable(f"{who} failed with HTTP {error.status_code}.", remedy=check) from None
        kind = CredentialUnusable if error.status_code in _USELESS else ProviderRejected
        raise kind(f"{who} refused the request with HTTP {error.status_code}.", remedy=check) from None
    except (openai.APIError, ValueError, AttributeError, TypeError, LookupError):
        raise ProviderUnavailable(f"{who} gave an answer that cannot be read.", remedy=check) from None


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds to wait, when the provider says so in seconds."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


async def probe(credential: Credential, key: str | None, seconds: float) -> Probe:
    """Make the smallest call that shows that a credential works."""
    # The client's own limit is for each read: an answer that trickles would go on for ever.
    async with client_for(credential, key, seconds) as client, asyncio.timeout(seconds):
        if credential.type is CredentialType.EMBEDDING:
            made = await client.embeddings.create(model=credential.model, input=["ping"])
            return Probe(made.model or credential.model, f"dimension {len(made.data[0].embedding)}")
        if credential.type is CredentialType.RERANK:
            ranked = await client.post(
                "/rerank",
                body={"model": credential.model, "query": "ping", "documents": ["ping", "pong"]},
                cast_to=dict[str, object],
            )
            results = ranked["results"]
            if not isinstance(results, list):
                raise TypeError("no list of results")
            return Probe(credential.model, f"{len(results)} results")
        answer = await client.chat.completions.create(
            model=credential.model, max_tokens=1, messages=[{"role": "user", "content": "ping"}]
        )
        finish = answer.choices[0].finish_reason
        return Probe(answer.model or credential.model, f"finished by {finish}")
