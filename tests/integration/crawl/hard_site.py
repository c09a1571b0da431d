"""A site of more than 300 pages on loopback, with everything that makes crawling hard."""

import asyncio
import gzip
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import httpcore2

from kosmos.net.dialing import open_tcp

HOST = "docs.site.test"
ROOT = f"http://{HOST}/docs/"
PUBLIC = "93.184.216.34"
SECTIONS, PAGES = 10, 30
INSIDE = {"inside.test": "10.0.0.1", HOST: PUBLIC}

ROBOTS = f"""User-agent: *
Disallow: /

User-agent: Kosmos
Disallow: /docs/private/
Allow: /docs/private/open
Disallow: /*.cgi$
Sitemap: http://{HOST}/sitemap-index.xml
"""
INDEX = f"<sitemapindex><sitemap><loc>http://{HOST}/sitemap-1.xml.gz</loc></sitemap></sitemapindex>"
URLS = (
    f"<urlset><url><loc>{ROOT}only-in-sitemap</loc></url><url><loc>http://{HOST}/blog/</loc></url></urlset>"
)

BOMB = gzip.compress(b"\0" * 3_000_000)
EXTRA = (
    *(f"moved/{number}" for number in range(5)),
    *(
        "loop/a",
        "chain/0",
        "private/secret",
        "private/open",
        "tool.cgi",
        "slow/0",
        "slow/1",
        "missing",
        "down",
    ),
    *("busy", "flaky", "dup/1", "dup/2", "dup/3", "canon/print", "calendar/2024/1", "away", "meta", "inside"),
    *(
        "manual.pdf",
        "picture",
        "noindex",
        "nofollow",
        "packed",
        "gb",
        "refresh",
        "empty",
        "forbidden",
        "bomb",
    ),
    *("logo.png", "../blog/", "http://other.test/docs/", "mailto:a@b"),
)


@dataclass(frozen=True)
class Answer:
    """A response of the site."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    def bytes(self) -> bytes:
        fields = {"Content-Length": str(len(self.body)), "Content-Type": "text/html"} | self.headers
        lines = [f"HTTP/1.1 {self.status} X", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def page(title: str, links: Iterable[str] = (), head: str = "") -> Answer:
    items = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
    return Answer(f"<html><head><title>{title}</title>{head}</head><body><ul>{items}</ul>{title}".encode())


def redirect(place: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": place})


@dataclass
class Site:
    """The site, what was asked of it, and the fake internet around it."""

    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    conditions: Counter[str] = field(default_factory=Counter)
    dialled: Counter[tuple[str, int]] = field(default_factory=Counter)
    lookups: Counter[str] = field(default_factory=Counter)
    version: str = "1"
    agents: set[str] = field(default_factory=set)

    async def resolve(self, host: str, port: int) -> list[str]:
        self.lookups[host] += 1
        return [INSIDE[host]]

    async def dial(self, address: str, port: int, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        self.dialled[address, port] += 1
        assert (address, port) == (PUBLIC, 80), "a packet was about to leave loopback"
        return await open_tcp("127.0.0.1", self.port, seconds)

    async def answer(self, path: str, fields: dict[str, str]) -> Answer:
        """What the site says, by path."""
        self.asked[path] += 1
        self.agents.add(fields.get("user-agent", ""))
        if path.startswith("/docs/slow/"):
            await asyncio.sleep(0.2)
        made = self._fixed().get(path) or self._folder(path)
        if made.status != 200 or "/s1/" not in path:
            return made
        tag = f'"{self.version if path.endswith("/p7/") else 1}"'
        if fields.get("if-none-match") == tag:
            self.conditions[path] += 1
            return Answer(status=304, headers={"ETag": tag})
        return Answer(made.body, headers={"ETag": tag})

    def _folder(self, path: str) -> Answer:
        parts = path.strip("/").split("/")
        match parts:
            case ["docs", section] if section in {f"s{number}" for number in range(SECTIONS)}:
                return page(f"Section {section}", [f"p{number}/" for number in range(PAGES)])
            case ["docs", section, name] if section[0] == "s" and name in {f"p{n}" for n in range(PAGES)}:
                number = int(name[1:])
                near = [
                    f"../p{(number + 1) % PAGES}/?utm_source=x#top",
                    "/docs",
                    f"/docs/{section}/./{name}/",
                ]
                return page(
                    f"{section} {name} {self.version if name == 'p7' else ''}", [*near, "/docs/missing"]
                )
            case ["docs", "moved", number]:
                return redirect(f"../s0/p{number}/", 301)
            case ["docs", "chain", number]:
                return redirect(f"/docs/chain/{int(number) + 1}")
            case ["docs", "calendar", year, month]:
                return page(f"Calendar {year}-{month}", [f"/docs/calendar/{year}/{int(month) + 1}"])
            case ["docs", "slow", number]:
                return page(f"Slow {number}")
            case ["docs", "dup", _]:
                return page("The same everywhere", ["more/"])
        return Answer(b"no", 404)

    def _fixed(self) -> dict[str, Answer]:
        first = {name: self.asked[f"/docs/{name}"] == 1 for name in ("busy", "flaky")}
        text = {"Content-Type": "text/plain"}
        return {
            "/robots.txt": Answer(ROBOTS.encode(), headers=text),
            "/sitemap-index.xml": Answer(INDEX.encode(), headers={"Content-Type": "text/xml"}),
            "/sitemap-1.xml.gz": Answer(
                gzip.compress(URLS.encode()), headers={"Content-Type": "application/gzip"}
            ),
            "/docs": redirect("/docs/", 301),
            "/docs/": page("文档", [*(f"s{number}/" for number in range(SECTIONS)), *EXTRA]),
            "/docs/loop/a": redirect("b"),
            "/docs/loop/b": redirect("a"),
            "/docs/private/secret": page("Secret"),
            "/docs/private/open": page("Open"),
            "/docs/down": Answer(b"", 500),
            "/docs/busy": Answer(b"", 429, {"Retry-After": "0"}) if first["busy"] else page("Busy"),
            "/docs/flaky": Answer(b"", 503) if first["flaky"] else page("Flaky"),
            "/docs/canon/print": page("Print", head='<link rel="canonical" href="/docs/s2/p1/">'),
            "/docs/away": redirect("http://127.0.0.1:9/docs/"),
            "/docs/meta": redirect("http://169.254.169.254/latest/"),
            "/docs/inside": redirect("http://inside.test/docs/"),
            "/docs/manual.pdf": Answer(b"%PDF-1.4 x", headers={"Content-Type": "application/pdf"}),
            "/docs/picture": Answer(b"\x89PNG", headers={"Content-Type": "image/png"}),
            "/docs/noindex": page("Not listed", ["behind"], '<meta name="robots" content="noindex">'),
            "/docs/behind": page("Behind"),
            "/docs/nofollow": page("Followed by none", ["hidden"], '<meta name="robots" content="nofollow">'),
            "/docs/packed": Answer(gzip.compress(page("Packed").body), headers={"Content-Encoding": "gzip"}),
            "/docs/bomb": Answer(BOMB, headers={"Content-Encoding": "gzip"}),
            "/docs/gb": Answer(
                '<meta charset="gbk"><a href="/docs/中文/">x</a>'.encode("gb18030"),
                headers={"Content-Type": "text/html; charset=gb2312"},
            ),
            "/docs/%E4%B8%AD%E6%96%87/": page("中文", head='<base href="/docs/based/">'),
            "/docs/refresh": Answer(b'<meta http-equiv=refresh content="0; url=behind">'),
            "/docs/empty": Answer(b" "),
            "/docs/forbidden": Answer(b"", 403),
            "/docs/only-in-sitemap": page("Only in the sitemap"),
        }

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                first, *rest = head.split("\r\n")
                fields = {
                    name.lower(): value for name, value in (line.split(": ", 1) for line in rest if line)
                }
                writer.write((await self.answer(first.split(" ")[1], fields)).bytes())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()
