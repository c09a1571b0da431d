"""Which credential comes first, and what happens when it fails."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.domain.credentials import Credential, CredentialLink, CredentialType
from kosmos.errors import (
    AllProvidersFailed,
    ConfigError,
    NoCredential,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from kosmos.llm.choice import order_links, with_failover

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DRAWS = 20_000


def credential(name: str) -> Credential:
    return Credential(
        id=name,
        owner_id=None,
        name=name,
        type=CredentialType.LLM,
        base_url="http://127.0.0.1/v1",
        model="m",
        options={},
        is_default=False,
        has_key=False,
        key_id=None,
        created_at=NOW,
        updated_at=NOW,
    )


def link(name: str, priority: int = 0, weight: float = 1.0) -> CredentialLink:
    return CredentialLink(space_id="s", credential=credential(name), priority=priority, weight=weight)


LINKS = st.lists(
    st.tuples(st.integers(-1_000_000, 1_000_000), st.floats(0, 1_000_000, exclude_min=True)), max_size=12
)


@given(LINKS, st.integers())
def test_every_link_appears_once_and_in_order_of_priority(pairs: list[tuple[int, float]], seed: int) -> None:
    links = [link(str(number), *pair) for number, pair in enumerate(pairs)]
    ordered = order_links(links, random.Random(seed))
    assert sorted(c.id for c in ordered) == sorted(one.credential.id for one in links)
    priorities = [pairs[int(c.id)][0] for c in ordered]
    assert priorities == sorted(priorities, reverse=True)
    assert ordered == order_links(iter(links), random.Random(seed))


@pytest.mark.parametrize(
    "weights",
    [
        (1, 3),
        (3, 1),
        (1, 1, 2),
        (0.5, 0.25, 0.25),
        (0.0001, 0.0003),
        (1e-9, 3e-9),
        (1_000_000, 250_000),
        (1, 0.01),
    ],
)
def test_who_stands_first_follows_the_weights(weights: Sequence[float]) -> None:
    links = [link(str(number), weight=weight) for number, weight in enumerate(weights)]
    rng = random.Random(7)
    first = Counter(order_links(links, rng)[0].id for _ in range(DRAWS))
    for number, weight in enumerate(weights):
        assert first[str(number)] / DRAWS == pytest.approx(weight / sum(weights), abs=0.015)


def test_the_second_place_follows_the_weights_that_are_left() -> None:
    links = [link("rare", weight=1), link("often", weight=3), link("first", priority=9)]
    rng = random.Random(7)
    second = Counter(order_links(links, rng)[1].id for _ in range(DRAWS))
    assert set(second) == {"rare", "often"}
    assert second["often"] / DRAWS == pytest.approx(0.75, abs=0.015)


class Provider:
    """Fails for the given names, and notes who was asked."""

    def __init__(self, failures: dict[str, Exception]) -> None:
        self.failures = failures
        self.asked: list[str] = []

    async def __call__(self, candidate: Credential) -> str:
        self.asked.append(candidate.name)
        if candidate.name in self.failures:
            raise self.failures[candidate.name]
        return f"answer of {candidate.name}"


async def ask(provider: Provider, *names: str) -> str:
    return await with_failover(CredentialType.LLM, [credential(name) for name in names], provider)


async def test_the_first_answer_counts_and_nobody_else_is_asked() -> None:
    provider = Provider({})
    assert await ask(provider, "a", "b") == "answer of a"
    assert provider.asked == ["a"]


async def test_each_failure_moves_on_to_the_next_in_order() -> None:
    provider = Provider({"a": ProviderBusy(), "b": ProviderRejected(), "c": ConfigError("no key")})
    assert await ask(provider, "a", "b", "c", "d", "e") == "answer of d"
    assert provider.asked == ["a", "b", "c", "d"]


async def test_a_single_failure_comes_out_as_it_is() -> None:
    busy = ProviderBusy(retry_after=7)
    with pytest.raises(ProviderBusy) as caught:
        await ask(Provider({"a": busy}), "a")
    assert caught.value is busy


@pytest.mark.parametrize(
    ("last", "retryable"), [(ProviderUnavailable("down"), True), (ProviderRejected("bad key"), False)]
)
async def test_all_failures_are_told_with_their_names(last: ProviderError, retryable: bool) -> None:
    first = ProviderRejected("unknown model")
    with pytest.raises(AllProvidersFailed) as caught:
        await ask(Provider({"甲": first, "b": last}), "甲", "b")
    assert caught.value.failures == (("甲", first), ("b", last))
    assert f"甲: unknown model; b: {last.message}" in caught.value.message
    assert caught.value.retryable is retryable
    assert "kosmos credentials test" in (caught.value.remedy or "")


async def test_our_own_mistakes_are_not_taken_for_a_provider_that_fails() -> None:
    provider = Provider({"a": ZeroDivisionError()})
    with pytest.raises(ZeroDivisionError):
        await ask(provider, "a", "b")
    assert provider.asked == ["a"]


@pytest.mark.parametrize("kind", CredentialType)
async def test_no_credential_says_how_to_add_one(kind: CredentialType) -> None:
    with pytest.raises(NoCredential, match=kind.value) as caught:
        await with_failover(kind, [], Provider({}))
    assert f"kosmos credentials add NAME --type {kind.value} " in (caught.value.remedy or "")
