"""Plain text as it is; source code and data in a fence, so that nothing in it reads as Markdown."""

import re
from pathlib import PurePath

from kosmos.domain.extracts import Extract, Origin
from kosmos.ingest.encoding import decode_text
from kosmos.ingest.formats.markdown import break_lines, decoding_notes

CONVERTER_VERSION = 1
_LANGUAGES = {
    "bash": "bash sh zsh ksh",
    "batch": "bat cmd",
    "c": "c h",
    "cmake": "cmake",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "css": "css less scss",
    "dart": "dart",
    "diff": "diff patch",
    "dockerfile": "dockerfile",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fortran": "f90 f95",
    "go": "go mod",
    "graphql": "gql graphql",
    "groovy": "gradle groovy",
    "haskell": "hs",
    "hcl": "hcl tf tfvars",
    "html": "tmpl",
    "ini": "cfg conf ini properties",
    "java": "java",
    "javascript": "cjs js jsx mjs",
    "json": "geojson ipynb json json5 jsonl ndjson webmanifest",
    "julia": "jl",
    "kotlin": "kt kts",
    "latex": "bib cls sty tex",
    "lua": "lua",
    "makefile": "makefile mk",
    "objectivec": "mm",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "proto": "proto",
    "python": "py pyi",
    "r": "r",
    "ruby": "gemspec rb",
    "rust": "rs",
    "scala": "scala",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "typescript": "ts tsx",
    "vim": "vim",
    "xml": "atom plist rss svg wsdl xml xsd xsl xslt",
    "yaml": "yaml yml",
}
_BY_SUFFIX = {suffix: language for language, names in _LANGUAGES.items() for suffix in names.split()}
_WHOLE_NAMES = {"dockerfile", "makefile"}
_TICKS = re.compile("`{3,}")


def extract(data: bytes, name: str) -> Extract:
    """The text of the file. Line n of code is line n + 1 of the Markdown, which the origin records."""
    decoded = decode_text(data, name)
    text, notes = break_lines(decoded.text), decoding_notes(decoded)
    language = language_of(name)
    if not language or not text.strip():
        return Extract(text, notes=notes)
    return Extract(fence(text, language), origins=(Origin(2, "line", 1),), notes=notes)


def language_of(name: str) -> str:
    """The language of a source file by its name, or nothing for prose."""
    path = PurePath(name.lower())
    return _BY_SUFFIX.get(path.name if path.name in _WHOLE_NAMES else path.suffix.removeprefix("."), "")


def fence(code: str, language: str = "") -> str:
    """A fenced code block that no line of the code can close."""
    longest = max((len(run) for run in _TICKS.findall(code)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{code.rstrip(chr(10))}\n{ticks}"
