"""What a heading says to a reader: without comments, without its id, template calls put into words."""

import re
from dataclasses import dataclass

from kosmos.domain.blocks import without_comments
from kosmos.ingest.links_shortcodes import CALL, read_call

_ID = re.compile(r"\s*\{\s*#([^\s{}]+)[^{}]*\}\s*$")
_NAMED = re.compile(r"\{\{[<%]\s*heading\s+\"([a-z]+)\"\s*[%>]\}\}")
_STATE = re.compile(r"\{\{[<%]\s*feature-state\b")
_HAN = re.compile("[\u3400-\u9fff]")
_LATIN = re.compile("[A-Za-z]+")
# Headings that the Kubernetes site writes once for all languages.
_WORDS = {
    "whatsnext": ("What's next", "接下来"),
    "seealso": ("See Also", "另请参见"),
    "prerequisites": ("Before you begin", "准备开始"),
    "objectives": ("Objectives", "教程目标"),
    "cleanup": ("Cleaning up", "清理现场"),
    "synopsis": ("Synopsis", "简介"),
    "options": ("Options", "选项"),
    "parentoptions": ("Options inherited from parent commands", "继承于父命令的选项"),
    "examples": ("Examples", "示例"),
    "envvars": ("Environment variables", "环境变量"),
}


@dataclass(frozen=True, slots=True)
class Title:
    """A heading's words and the id written into it, if one is."""

    text: str
    anchor: str = ""


def read_title(content: str, *, chinese: bool) -> Title:
    """The title of a heading with that inline content."""
    content = " ".join(without_comments(content).split())
    if "{{" in content:
        content = _NAMED.sub(lambda match: _heading(match, chinese), CALL.sub(_words, content)).strip()
    marked = _ID.search(content) if content.endswith("}") else None
    return Title(content[: marked.start()], marked.group(1)) if marked else Title(content)


def needs_language(text: str) -> bool:
    """Whether a heading may be written as a template call, so that its words depend on the language."""
    return 'heading "' in text


def is_chinese(text: str) -> bool:
    """Whether readers see Chinese: also a page of commands with a Chinese word here and there is one."""
    seen = without_comments(text)
    return 4 * len(_HAN.findall(seen)) > len(_LATIN.findall(seen))


def _words(match: re.Match[str]) -> str:
    """A term is shown by its words, the state of a feature not at all; the rest stays as written."""
    call = read_call(match.group())
    if call and call.name == "glossary_tooltip":
        return call.text or call.target
    return "" if _STATE.match(match.group()) else match.group()


def _heading(match: re.Match[str], chinese: bool) -> str:
    words = _WORDS.get(match.group(1))
    return match.group() if words is None else words[chinese]
