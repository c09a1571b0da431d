"""Which credential is asked first, and what happens when it fails."""

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from kosmos.domain.credentials import Credential, CredentialLink, CredentialType
from kosmos.errors import AllProvidersFailed, ConfigError, NoCredential, ProviderError

T = TypeVar("T")


def order_links(links: Iterable[CredentialLink], rng: random.Random) -> list[Credential]:
    """Highest priority first; within a priority a random order in which weight counts.

    A credential of weight 3 stands first three times as often as one of weight 1.
    """
    ordered: list[Credential] = []
    by_priority = sorted(links, key=lambda link: -link.priority)
    for _, group in groupby(by_priority, key=lambda link: link.priority):
        # The earliest of exponential arrivals draws without replacement in proportion to the weights.
        drawn = sorted(group, key=lambda link: rng.expovariate(link.weight))
        ordered.extend(link.credential for link in drawn)
    return ordered


async def with_failover(
    kind: CredentialType, candidates: Sequence[Credential], call: Callable[[Credential], Awaitable[T]]
) -> T:
    """The first answer that a credential gives; each failure moves on to the next one."""
    if not candidates:
        raise NoCredential(
            f"No credential of type {kind} is configured.",
            remedy=f"Add one: kosmos credentials add NAME --type {kind} --base-url URL --model MODEL",
        )
    failures: list[tuple[str, ProviderError | ConfigError]] = []
    for candidate in candidates:
        try:
            return await call(candidate)
        except (ProviderError, ConfigError) as error:
            failures.append((candidate.name, error))
    if len(failures) == 1:
        raise failures[0][1]
    raise AllProvidersFailed(failures)
