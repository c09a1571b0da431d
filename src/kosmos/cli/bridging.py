"""`kosmos watch-cluster`: what happens in a cluster now, for retrieval."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kosmos.cli.session import with_app
from kosmos.errors import ConfigError

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal


def watch_cluster(
    space: Annotated[str, typer.Option("--space", help="Where it is written.")] = "default",
    kubeconfig: Annotated[Path | None, typer.Option("--kubeconfig", help="Default: ~/.kube/config.")] = None,
    context: Annotated[str | None, typer.Option("--context", help="Of the kubeconfig.")] = None,
    server: Annotated[str | None, typer.Option("--server", help="Address of the API, instead.")] = None,
    token_file: Annotated[Path | None, typer.Option("--token-file", help="Token for that address.")] = None,
    ca_file: Annotated[Path | None, typer.Option("--ca-file", help="Who signs for that address.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call the cluster.")] = None,
) -> None:
    """Watch a cluster and keep what happens in it findable in a space, as long as it is true."""
    from kosmos.accounts.access import resolve_space
    from kosmos.bridge import access
    from kosmos.domain.accounts import Role

    def reach() -> access.Access:
        if server:
            return access.by_address(server, token_file, ca_file)
        host = os.environ.get("KUBERNETES_SERVICE_HOST")
        if host and kubeconfig is None:
            return access.by_service_account(host, os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
        return access.by_kubeconfig((kubeconfig or Path("~/.kube/config")).expanduser(), context)

    found = reach()
    called = name or found.name
    if not called.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise ConfigError(f"{called!r} is no name for a cluster.", remedy="Give another by --name.")

    async def work(app: "App", who: "Principal") -> None:
        from kosmos.bridge.bridging import RuntimeBridge
        from kosmos.bridge.watching import RESOURCES, Watch
        from kosmos.workers import working_beside

        async with app.bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space, need=Role.EDITOR)).space.id
        async with found.client() as http, working_beside(app):
            watches = [Watch(http, kind, path) for kind, path in RESOURCES.items()]
            await RuntimeBridge(app.bench, who, space_id, called, watches).run()

    with_app(work)
