"""Opens Kosmos for one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal

T = TypeVar("T")


def with_app(work: "Callable[[App, Principal], Awaitable[T]]") -> T:
    """Run a command's work on the open application, as the local user."""
    from kosmos.app import open_app
    from kosmos.config import load_settings
    from kosmos.config.logs import configure_logging

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)

    async def run() -> T:
        async with open_app(settings) as app:
            return await work(app, await app.local_user())

    return asyncio.run(run())
