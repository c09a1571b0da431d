"""The page speaks both languages completely, and its files are small and self-contained."""

import json
import re
from importlib.resources import files
from pathlib import Path

WEB = Path(str(files("kosmos"))) / "web"
SCRIPTS = sorted(WEB.rglob("*.js"))
WORDS = {
    name: json.loads((WEB / "text" / f"{name}.json").read_text(encoding="utf-8")) for name in ("en", "zh")
}


def _holes(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_both_dictionaries_have_the_same_keys() -> None:
    assert list(WORDS["en"]) == list(WORDS["zh"])
    for key, text in WORDS["en"].items():
        assert _holes(text) == _holes(WORDS["zh"][key]), key
        assert text.strip() or key == "", key
        assert WORDS["zh"][key].strip(), key


def test_every_word_that_a_script_uses_is_there() -> None:
    used = {key for path in SCRIPTS for key in re.findall(r"\bt\(\s*\"([^\"]+)\"", path.read_text("utf-8"))}
    assert len(used) > 100
    assert used <= set(WORDS["en"])


def test_every_word_is_used() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SCRIPTS)
    literal = set(re.findall(r"[\"`]([a-z][\w.]*)[\"`]", text))
    groups = set(re.findall(r"named\(\s*\"(\w+)\"", text)) | set(re.findall(r"t\(`([\w.]+)\.\$\{", text))
    groups |= {"reader"}  # tabs: t(`reader.${name}.tab`)
    groups |= set(re.findall(r"options\(\"(\w+)\"", text))
    unused = [
        key
        for key in WORDS["en"]
        if key not in literal and key.rpartition(".")[0].split(".")[0] not in groups
    ]
    assert unused == []


def test_files_are_small_and_load_nothing_from_elsewhere() -> None:
    for path in WEB.rglob("*"):
        if path.suffix not in (".js", ".css", ".html"):
            continue
        text = path.read_text("utf-8")
        assert text.count("\n") <= 300, path
        assert not re.search(r"(src|href|url\()\s*=?\s*[\"'(]?\s*(https?:)?//", text), path
        assert "innerHTML" not in text or path.name == "html.js", path
        assert not re.search(r"\son\w+\s*=\s*\"|\sstyle\s*=\s*\"|<script>|\beval\(", text), path


def test_every_import_and_every_file_of_the_front_page_exists() -> None:
    for path in SCRIPTS:
        for name in re.findall(r"(?:from|import)\s*\(?\"(\.[^\"]+)\"", path.read_text("utf-8")):
            assert (path.parent / name).is_file(), (path, name)
    for name in re.findall(r"\"/page/([^\"]+)\"", (WEB / "index.html").read_text("utf-8")):
        assert (WEB / name).is_file(), name
