"""Where links lead: to documents of the space, elsewhere on the same site, or away."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from urllib.parse import unquote, urljoin, urlsplit

from kosmos.domain.trees import Link, LinkKind, ResolvedLink
from kosmos.ingest.links_sources import SourceIndex, page_of, plain_path

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Where sites hang their documentation: the folder itself is often not part of the sources' paths.
_MOUNTS = {"docs", "doc", "documentation"}
_TERMS = {"glossary_tooltip", "glossary_definition"}


def resolve_links(
    links: Iterable[Link],
    own_source: str,
    sources: Mapping[str, str] | SourceIndex,
    *,
    sites: Collection[str] = (),
) -> list[ResolvedLink]:
    """Each link with the document it leads to, if the space has it.

    `sources` maps the sources of the space to document ids; whoever resolves the links of many documents
    makes one SourceIndex and passes that. `sites` are hosts under which these documents are published.
    """
    index = sources if isinstance(sources, SourceIndex) else SourceIndex(sources)
    hosts = {site.lower() for site in sites}
    return [_resolve(link, own_source, index, hosts) for link in links]


def _resolve(link: Link, own: str, index: SourceIndex, hosts: set[str]) -> ResolvedLink:
    address, _, anchor = link.target.partition("#")
    try:
        if "://" in own and not link.shortcode:
            hosts = {*hosts, urlsplit(own).netloc.lower()}
            address = urljoin(own, address) if address else own
        internal, path = _internal_path(address, hosts)
    except ValueError:
        # What looks like an address but is none, as `http://[x`.
        return ResolvedLink(link, internal=False, anchor=anchor)
    if link.kind is LinkKind.SHORTCODE and link.shortcode == "api-reference":
        path = f"/docs/reference/kubernetes-api/{path}"
    source = own if not address else _first(_candidates(link, path, own, index, on_site=internal))
    internal = internal or source is not None
    if source is None:
        return ResolvedLink(link, internal, anchor=anchor)
    spoken = [index.language_root(plain_path(name))[0] for name in (own, source)]
    return ResolvedLink(
        link,
        internal,
        index.ids.get(source),
        source if source in index.ids else None,
        anchor,
        other_language=all(spoken) and spoken[0] != spoken[1],
    )


def _internal_path(address: str, hosts: set[str]) -> tuple[bool, str]:
    """Whether an address stays on the site, and what to look for: a path, or the whole address."""
    if address.startswith("//"):
        address = f"https:{address}"
    if not _SCHEME.match(address):
        return True, unquote(address.split("?")[0])
    parts = urlsplit(address) if address.lower().startswith(("http://", "https://")) else None
    if parts is None:
        return False, ""
    return parts.netloc.lower() in hosts, address


def _candidates(
    link: Link, path: str, own: str, index: SourceIndex, *, on_site: bool
) -> Iterator[str | None]:
    """The sources that may be meant, the likeliest first."""
    own_path = plain_path(own)
    if "://" in path:
        yield index.find(plain_path(path))
        yield index.find(plain_path(path.split("?", maxsplit=1)[0]))
        path = unquote(urlsplit(path).path)
        if on_site and "://" not in own and path.strip("/"):
            yield from _from_root(path, own_path, index)
    elif link.shortcode in _TERMS:
        yield index.find_tail(f"glossary/{path}", own)
    elif path.startswith("/"):
        yield from _from_root(path, own_path, index)
    elif path:
        yield index.find(_join(posixpath.dirname(own_path), path))
        yield index.find(_join(page_of(own_path), path))
        if link.shortcode:
            yield index.find_tail("/".join(path.strip("./").split("/")[-3:]), own)


def _from_root(path: str, own: str, index: SourceIndex) -> Iterator[str | None]:
    """A path from the site's root: below a folder above the page, in its language, then in another."""
    names = [name for name in path.split("/") if name]
    named = names[0].lower() if names and index.roots_of(names[0]) else ""
    rest = names[1:] if named else names
    language, root = index.language_root(own)
    if not named or named == language:
        folders = own.split("/")[:-1]
        for depth in range(len(folders) + 1):
            yield index.find("/".join([*folders[:depth], *names]))
    roots = [root] if root and named in ("", language) else []
    roots += [*index.roots_of(named), index.common_root, ""]
    # A page that is not translated is still there in the other language.
    roots += [other for code in sorted(index.language_roots) for other in index.language_roots[code]]
    for folder in dict.fromkeys(roots):
        yield from _below(folder, rest, index)


def _below(root: str, names: list[str], index: SourceIndex) -> Iterator[str | None]:
    """The page below a root, also when the sources' paths begin inside the folder that the site shows."""
    start = [root] if root else []
    yield index.find("/".join([*start, *names]))
    if len(names) > 1 and names[0].lower() in _MOUNTS:
        for skipped in range(1, len(names) - 1):
            yield index.find("/".join([*start, *names[skipped:]]))
        if len(names) == 2:
            yield index.find("/".join([*start, names[1]]))


def _first(found: Iterable[str | None]) -> str | None:
    return next((source for source in found if source is not None), None)


def _join(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join("/", folder, path))
    return joined.lstrip("/")
