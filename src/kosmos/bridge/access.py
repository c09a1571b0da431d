"""How a cluster is reached: a kubeconfig, a service account, or an address and a token."""

import base64
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from kosmos.errors import ConfigError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API is and how to sign in."""

    name: str
    server: str
    token: str | None = None
    ca: bytes | None = None
    certificate: tuple[bytes, bytes] | None = None  # and its key

    def client(self) -> httpx2.AsyncClient:
        """A client of the API. The operator named the address, so it may be a private one."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        verify: ssl.SSLContext | bool = self._trusted() if self.server.startswith("https") else True
        return httpx2.AsyncClient(
            base_url=self.server, headers=headers, verify=verify, trust_env=False, timeout=30
        )

    def _trusted(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca.decode() if self.ca else None)
        if self.certificate is not None:
            with tempfile.NamedTemporaryFile() as file:  # only its owner can read it, and it is gone at once
                file.write(self.certificate[0] + b"\n" + self.certificate[1])
                file.flush()
                context.load_cert_chain(file.name)
        return context


def by_address(server: str, token_file: Path | None, ca_file: Path | None) -> Access:
    """A cluster by its address."""
    token = token_file.read_text().strip() if token_file else None
    return Access("cluster", server.rstrip("/"), token, ca_file.read_bytes() if ca_file else None)


def by_service_account(host: str, port: str) -> Access:
    """The cluster that this process runs in."""
    token, ca = _ACCOUNT / "token", _ACCOUNT / "ca.crt"
    return Access("cluster", f"https://{host}:{port}", token.read_text().strip(), ca.read_bytes())


def by_kubeconfig(path: Path, context: str | None = None) -> Access:
    """A cluster of a kubeconfig. Programs that it names to sign in with are not run."""
    try:
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
        wanted = context or whole["current-context"]
        chosen = _named(whole["contexts"], wanted)["context"]
        cluster = _named(whole["clusters"], chosen["cluster"])["cluster"]
        user = _named(whole.get("users") or [], chosen["user"]).get("user") or {}
        return Access(
            str(wanted),
            str(cluster["server"]).rstrip("/"),
            user.get("token"),
            _bytes(cluster, "certificate-authority", path),
            _pair(_bytes(user, "client-certificate", path), _bytes(user, "client-key", path)),
        )
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(
            f"{path} cannot be used: {type(error).__name__} {error}.",
            remedy="Give --server and --token-file.",
        ) from None


def _pair(one: bytes | None, other: bytes | None) -> tuple[bytes, bytes] | None:
    return (one, other) if one and other else None


def _named(items: Any, name: str) -> dict[str, Any]:
    return next(dict(item) for item in [*items, {"name": name}] if item["name"] == name)


def _bytes(given: Any, name: str, path: Path) -> bytes | None:
    if given.get(f"{name}-data"):
        return base64.b64decode(given[f"{name}-data"])
    return (path.parent / given[name]).read_bytes() if given.get(name) else None
