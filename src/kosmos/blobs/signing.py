"""AWS Signature Version 4, as S3 and everything that speaks like S3 expects it."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kosmos.errors import ConfigError

_ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class AccessKeys:
    """The pair of keys a service knows us by."""

    access_key: str
    secret_key: str = field(repr=False)

    def __post_init__(self) -> None:
        for name, value in (("access key", self.access_key), ("secret key", self.secret_key)):
            if not value or not value.isascii() or not value.isprintable() or " " in value:
                raise ConfigError(
                    f"The {name} of the blob store is empty or contains blanks or control characters.",
                    remedy=f"Set the {name} exactly as the service gave it, without a line end.",
                )


@dataclass(frozen=True)
class Signer:
    """Signs requests to one service in one region."""

    keys: AccessKeys
    region: str
    service: str = "s3"

    def headers(
        self, method: str, target: str, *, signed: Mapping[str, str], payload_sha256: str, at: datetime
    ) -> dict[str, str]:
        """The headers to add to a request.

        `target` is path and query exactly as they are sent, percent-encoded; `signed` are the headers to
        protect, `host` among them.
        """
        moment = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        added = {"x-amz-content-sha256": payload_sha256, "x-amz-date": moment}
        protected = {name.lower(): " ".join(value.split()) for name, value in {**signed, **added}.items()}
        names = ";".join(sorted(protected))
        request = _canonical(method, target, headers=protected, payload_sha256=payload_sha256)
        scope = f"{moment[:8]}/{self.region}/{self.service}/aws4_request"
        to_sign = "\n".join((_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
        signature = hmac.new(self._key(moment[:8]), to_sign.encode(), hashlib.sha256).hexdigest()
        credential = f"{self.keys.access_key}/{scope}"
        added["authorization"] = (
            f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        )
        return added

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.keys.secret_key}".encode()
        for part in (day, self.region, self.service, "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return key


def _canonical(method: str, target: str, *, headers: Mapping[str, str], payload_sha256: str) -> str:
    path, _, query = target.partition("?")
    pairs = sorted(pair.partition("=")[::2] for pair in query.split("&") if pair)
    lines = [method, path, "&".join(f"{name}={value}" for name, value in pairs)]
    lines += [f"{name}:{headers[name]}" for name in sorted(headers)]
    return "\n".join([*lines, "", ";".join(sorted(headers)), payload_sha256])
