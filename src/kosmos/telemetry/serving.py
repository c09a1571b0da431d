"""What a worker has counted, for Prometheus: a worker has no server otherwise."""

import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer

from kosmos.errors import ConfigError
from kosmos.telemetry.measures import families
from kosmos.telemetry.metrics import CONTENT_TYPE, exposition

CLIENT_SECONDS = 5.0
PATHS = ("/metrics", "/healthz")


def _handler(secret: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = CLIENT_SECONDS  # one client at a time: a slow one must not keep the others away
        server_version = "kosmos"
        sys_version = ""

        def do_GET(self) -> None:
            if self.path not in PATHS:
                self._answer(HTTPStatus.NOT_FOUND, "There are /metrics and /healthz.\n")
            elif self.path == "/healthz":
                self._answer(HTTPStatus.OK, "ok\n")
            elif not self._admitted():
                self._answer(HTTPStatus.UNAUTHORIZED, "Send it as: Authorization: Bearer …\n")
            else:
                self._answer(HTTPStatus.OK, exposition(families()))

        def _admitted(self) -> bool:
            given = self.headers.get("authorization", "").removeprefix("Bearer ")
            return hmac.compare_digest(secret.encode(), given.encode())

        def _answer(self, status: HTTPStatus, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Whoever scrapes every few seconds is not worth a line each."""

    return Handler


@contextmanager
def serving_metrics(host: str, port: int, secret: str | None) -> Iterator[int]:
    """Serve `/metrics` beside the block; gives the port. ConfigError without a token or with a taken port."""
    if secret is None:
        raise ConfigError(
            "The counters of a worker need a token.", remedy="Set KOSMOS_METRICS_TOKEN, as for the server."
        )
    try:
        server = HTTPServer((host, port), _handler(secret))
    except OSError as error:
        raise ConfigError(
            f"Counters cannot be served at {host}, port {port}: {error.strerror or error}.",
            remedy="Choose another --metrics-port.",
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
