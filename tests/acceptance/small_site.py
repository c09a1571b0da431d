"""A site of a few pages on loopback, in a thread of its own."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_PAGES = {
    "/robots.txt": "User-agent: *\nDisallow: /docs/secret\n",
    "/docs/": "<html><title>手册</title><main><h1>手册 handbook</h1>"
    "<p>The blue pump must be oiled every 40 days."
    "<a href=pump>pump</a> <a href=secret>secret</a> <a href=missing>missing</a> <a href=away>away</a>",
    "/docs/pump": "<html><title>泵</title><main><h1>泵</h1><p>泵的叶子证书每九十天轮换一次。",
    "/docs/secret": "<html><p>Not for robots.",
}


class SmallSite:
    """What is asked of the site, and where it is."""

    def __init__(self, port: int) -> None:
        self.place = f"127.0.0.1:{port}"
        self.start = f"http://{self.place}/docs/"
        self.asked: Counter[str] = Counter()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: SmallSite

    def do_GET(self) -> None:
        self.site.asked[self.path] += 1
        body = _PAGES.get(self.path, "").encode()
        away = self.path == "/docs/away"
        self.send_response(302 if away else 200 if body else 404)
        if away:
            self.send_header("Location", "http://169.254.169.254/docs/latest")
        self.send_header("Content-Type", "text/plain" if self.path.endswith(".txt") else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_site() -> Iterator[SmallSite]:
    """The site for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    _Handler.site = SmallSite(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield _Handler.site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
