"""One tree of errors, each named by its consequence for the caller.

The docstring of a class is its default message. `remedy` says what the reader can do about it. HTTP
codes are mapped once, in `kosmos.api.problems`; exit codes once, in `kosmos.cli.output`.
"""

from collections.abc import Sequence


class KosmosError(Exception):
    """Something went wrong."""

    retryable = False

    def __init__(self, message: str | None = None, *, remedy: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "Something went wrong.").split("\n")[0]
        self.remedy = remedy
        super().__init__(self.message)


class ConfigError(KosmosError):
    """The configuration cannot be used."""


class InvalidInput(KosmosError):
    """The request cannot be understood as it is."""


class TooLarge(InvalidInput):
    """The request is larger than allowed."""


class OverQuota(TooLarge):
    """A quota of documents or bytes is used up."""


class ConversionFailed(InvalidInput):
    """The file could not be turned into text; trying again will not help."""


class Unauthenticated(KosmosError):
    """A valid token is needed."""


class Forbidden(KosmosError):
    """You may see this, but not do that."""


class NotFound(KosmosError):
    """There is no such thing, or you may not see it."""


class Conflict(KosmosError):
    """The request does not fit the present state."""


class LeaseLost(KosmosError):
    """The job was paused, cancelled or taken over; what this worker still wants to write does not count."""


class NotReady(KosmosError):
    """Something that is needed is not there yet; look again later."""

    retryable = True

    def __init__(
        self, message: str | None = None, *, seconds: float = 60.0, remedy: str | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.seconds = seconds


class SlowDown(KosmosError):
    """Too much in too short a time; go on later."""

    retryable = True

    def __init__(
        self, message: str | None = None, *, retry_after: float = 1.0, remedy: str | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class TokensUsedUp(SlowDown):
    """The tokens of models for today are used up."""


class DeadlinePassed(KosmosError):
    """The deadline has passed."""


class NoProgress(KosmosError):
    """Several attempts in a row brought no progress."""


class DataLost(KosmosError):
    """Stored data is missing or damaged."""


class EngineUnavailable(KosmosError):
    """A database, store or service that is needed does not answer."""

    retryable = True


class FetchRefused(KosmosError):
    """This address may not be fetched."""


class FetchFailed(KosmosError):
    """The address could not be fetched."""

    def __init__(
        self, message: str | None = None, *, retryable: bool = False, remedy: str | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable


class ProviderError(KosmosError):
    """A model provider could not do what was asked."""


class ProviderUnavailable(ProviderError):
    """The model provider does not answer."""

    retryable = True


class ProviderBusy(ProviderUnavailable):
    """The model provider asks to slow down."""

    def __init__(
        self, message: str | None = None, *, retry_after: float | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class ProviderRejected(ProviderError):
    """The model provider refused the request; asking again will not help."""


class CredentialUnusable(ProviderRejected):
    """The model provider does not take the key, or does not know the model: no request will succeed."""


class ModelUnfit(ProviderError):
    """The answers of the model cannot be used; another one may do better."""


class NoCredential(ProviderError):
    """No credential of the needed type is configured."""


class AllProvidersFailed(ProviderError):
    """Every configured credential was tried and failed."""

    def __init__(self, failures: Sequence[tuple[str, KosmosError]]) -> None:
        self.failures = tuple(failures)
        tried = "; ".join(f"{name}: {error.message}" for name, error in failures)
        super().__init__(
            f"Every configured credential failed. {tried}",
            remedy="Check them with `kosmos credentials test`.",
        )
        self.retryable = any(error.retryable for _, error in failures)
