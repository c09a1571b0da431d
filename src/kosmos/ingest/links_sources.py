"""The sources of a space, to be found by the paths and addresses that links name them with."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

_EXTENSION = re.compile(r"\.(?:md|markdown|mdx|html?|rst|txt|adoc|ipynb)$", re.IGNORECASE)
_FRONT = re.compile(r"(?:^|/)(?:_?index|readme)$", re.IGNORECASE)
# Folders that hold one language of a site.
_LANGUAGE = re.compile(
    r"(?:ar|bn|cs|da|de|el|en|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)"
    r"(?:[-_](?:[a-z]{2}|hans|hant|latn|cyrl))?",
    re.IGNORECASE,
)


class SourceIndex:
    """Sources by path, by page (`a/b.md`, `a/b/_index.md` and `a/b/` are one), and by their last names."""

    def __init__(self, sources: Mapping[str, str], aliases: Mapping[str, str] | None = None) -> None:
        """`sources` maps sources to document ids; `aliases` further paths to the sources they show."""
        self.ids = sources
        self._paths: dict[str, str] = {}
        self._pages: dict[str, str] = {}
        self._tails: dict[str, list[str]] = {}
        self.language_roots: dict[str, list[str]] = {}
        for source in sorted(sources):
            path = plain_path(source)
            self._paths.setdefault(path, source)
            self._pages.setdefault(page_of(path).lower(), source)
            self._add_languages(path)
        self.common_root = _common_folder(self._paths)
        for path, source in (aliases or {}).items():
            self._pages.setdefault(page_of(plain_path(path)).lower(), source)

    def find(self, path: str) -> str | None:
        """The source at a path or of a page."""
        return self._paths.get(path) or self._pages.get(page_of(path).lower())

    def find_tail(self, tail: str, own: str) -> str | None:
        """The source whose path ends so, the nearest to `own` when there are several."""
        if not self._tails:
            self._add_tails()
        found = self._tails.get(page_of(tail).lower(), [])
        return max(found, key=lambda source: (_shared(source, own), source), default=None)

    def roots_of(self, language: str) -> list[str]:
        """The folders of a language; `zh` means `zh-cn` where that is the only Chinese there is."""
        exact = self.language_roots.get(language.lower())
        if exact is not None or not _LANGUAGE.fullmatch(language):
            return exact or []
        start = re.split("[-_]", language.lower())[0]
        return [
            root
            for code in sorted(self.language_roots)
            if re.split("[-_]", code)[0] == start
            for root in self.language_roots[code]
        ]

    def language_root(self, path: str) -> tuple[str, str]:
        """The language of a path and the folder that holds it; both empty when no folder says one."""
        names = path.split("/")[:-1]
        for index, name in enumerate(names):
            if name.lower() in self.language_roots and _LANGUAGE.fullmatch(name):
                return name.lower(), "/".join(names[: index + 1])
        return "", ""

    def _add_languages(self, path: str) -> None:
        names = path.split("/")[:-1]
        for index, name in enumerate(names):
            if _LANGUAGE.fullmatch(name):
                roots = self.language_roots.setdefault(name.lower(), [])
                root = "/".join(names[: index + 1])
                if root not in roots:
                    roots.append(root)
                return

    def _add_tails(self) -> None:
        for path, source in self._paths.items():
            names = page_of(path).lower().split("/")
            for count in (1, 2, 3):
                if len(names) >= count:
                    self._tails.setdefault("/".join(names[-count:]), []).append(source)


def alias_paths(source: str, metadata: Mapping[str, Any]) -> list[str]:
    """Other paths under which a page is published, as its front matter (`slug`, `url`, `aliases`) says."""
    slug, own, others = metadata.get("slug"), metadata.get("url"), metadata.get("aliases")
    paths = (
        [posixpath.join(posixpath.dirname(page_of(plain_path(source))), slug)]
        if isinstance(slug, str)
        else []
    )
    return paths + [
        path for path in [own, *(others if isinstance(others, list) else [])] if isinstance(path, str)
    ]


def plain_path(source: str) -> str:
    """A source as a path without a leading slash; an address begins with its host."""
    if "://" in source:
        parts = urlsplit(source)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.netloc.lower()}{unquote(parts.path) or '/'}{query}".rstrip("/")
    return posixpath.normpath(source.replace("\\", "/")).lstrip("/")


def page_of(path: str) -> str:
    """The page that a file is published as: no extension, no `index`, no slash at the end."""
    page = _EXTENSION.sub("", path.rstrip("/"))
    return _FRONT.sub("", page)


def _common_folder(paths: Iterable[str]) -> str:
    folders = [path.rsplit("/", 1)[0].split("/") if "/" in path else [] for path in paths]
    if not folders:
        return ""
    low, high = min(folders), max(folders)
    return "/".join(low[: _same_start(low, high)])


def _shared(source: str, own: str) -> int:
    return _same_start(source.split("/"), own.split("/"))


def _same_start(one: list[str], other: list[str]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
