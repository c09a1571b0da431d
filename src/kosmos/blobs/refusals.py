"""What an S3 service's refusals mean for the reader, and what can be done about them."""

from kosmos.blobs.location import Location
from kosmos.errors import ConfigError, EngineUnavailable, KosmosError, NotFound, TooLarge

_ELSEWHERE = {"PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed"}
_ELSEWHERE |= {"IllegalLocationConstraintException"}


def refusal(status: int, code: str, location: Location) -> KosmosError:
    """The error for a status and the service's own code, which is empty when it gave none."""
    said = f"{status} {code}".strip()
    if code == "NoSuchBucket":
        return no_bucket(location)
    if status == 404:
        return NotFound("There is no such object.")
    if code == "RequestTimeTooSkewed":
        return ConfigError(
            f"The blob store at {location.endpoint} refuses requests because the clocks differ too much.",
            remedy="Set the clock of this machine; time synchronisation may be off.",
        )
    if code in _ELSEWHERE or 300 <= status < 400:
        return ConfigError(
            f"The bucket {location.bucket!r} is not served from region {location.region!r} at "
            f"{location.endpoint} ({said}).",
            remedy="Set `region` and `endpoint` in the URL of the blob store to those of the bucket.",
        )
    if status in {401, 403}:
        return _forbidden(said, location)
    if code == "EntityTooLarge" or status == 413:
        return TooLarge("The blob store does not take objects of this size.", remedy="Split the file.")
    if status >= 500 or status in {408, 409, 429}:
        return EngineUnavailable(
            f"The blob store at {location.endpoint} has a problem of its own ({said}).",
            remedy="Try again later; if it stays, look at the log of that service.",
        )
    return ConfigError(
        f"The blob store at {location.endpoint} does not accept our request ({said}).",
        remedy="Check that `endpoint` in its URL is the address of an S3 service.",
    )


def no_bucket(location: Location) -> ConfigError:
    """The error for a bucket that is not there."""
    return ConfigError(
        f"The bucket {location.bucket!r} does not exist at {location.endpoint}.",
        remedy="Create the bucket there, or correct its name in the URL of the blob store.",
    )


def unreachable(error: Exception, location: Location) -> EngineUnavailable:
    """The error for a service that cannot be reached, or falls silent."""
    why = str(error) or type(error).__name__
    return EngineUnavailable(
        f"The blob store at {location.endpoint} does not answer: {why}.",
        remedy="Check that the service runs and that `endpoint` in the URL of the blob store is right.",
    )


def _forbidden(said: str, location: Location) -> ConfigError:
    return ConfigError(
        f"The keys are not accepted for the bucket {location.bucket!r} at {location.endpoint} ({said}).",
        remedy="Check access key and secret key, and that they may list the bucket and get, put and delete "
        "objects in it.",
    )
