"""Servers that live as long as a test."""

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from .wire import Handler, Serve, Server, serving


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start servers that live as long as the test."""
    async with AsyncExitStack() as stack:

        async def start(handler: Handler, tls: ssl.SSLContext | None = None) -> Server:
            return await stack.enter_async_context(serving(handler, tls))

        yield start
