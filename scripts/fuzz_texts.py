"""Generated Markdown for the fuzz run: whatever parsers and splitters stumble over. Does nothing when run."""

import random
from collections.abc import Callable

WORDS = (
    *("pod", "node", "Kubernetes", "the", "of", "pressure", "42", "3.5", "e.g.", "U.S.", "v1.2.3"),
    *("水泵", "阀门", "需要", "集群。", "调度！", "容器，", "说明：", "—", "’", "「", "」"),
    *("`code`", "**bold**", "[link](/url)", "![fig](a.png)", "<b>tag</b>", "<br/>", "$x_1$"),
    *("<!--", "-->", "```", "|", "{{< note >}}", "{#anchor}", "\\", "\\n", "#", "12|", "⟦phone⟧"),
    *("👩\u200d👧", "🙂", "e\u0301", "שלום", "مرحبا بالعالم", "\u202eabc\u202c", "\ufeff", "\u200b"),
    *("\u2028", "\u2029", "\x0c", "\x0b", "\x85", "\u3000", "\x1c"),
    *("https://example.org/a?b=c", "ad@example.com", "+86 138 0013 8000", "sk-" + "a1B2" * 8),
)
LONG_LINE = 5000  # words

Chance = random.Random
Maker = Callable[[Chance], str]


def _words(chance: Chance, most: int = 40) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


def _sentences(chance: Chance, most: int = 8) -> str:
    ends = (".", "。", "!", "?", "？", ":", "；", "")
    joint = chance.choice([" ", "\n", ""])
    return joint.join(_words(chance, 14) + chance.choice(ends) for _ in range(chance.randint(1, most)))


def _heading(chance: Chance) -> str:
    if chance.random() < 0.2:
        return f"{_words(chance, 5)}\n{chance.choice(['===', '---', '='])}"
    return f"{'#' * chance.randint(1, 7)}{chance.choice([' ', '', '  '])}{_words(chance, 6)}"


def _title(chance: Chance) -> str:
    return chance.choice(["第二章 方法", "3.2 Results", "= = Plot = =", "ABSTRACT", "**Notes**", "一、概述"])


def _list(chance: Chance) -> str:
    mark = chance.choice(["-", "*", "1.", "2)", "+ [ ]"])
    indents = [" " * chance.choice([0, 0, 2, 4, 7]) for _ in range(chance.randint(1, 20))]
    return chance.choice(["\n", "\n\n"]).join(f"{indent}{mark} {_words(chance, 16)}" for indent in indents)


def _table(chance: Chance) -> str:
    rows = (f"| {_words(chance, 5)} | {_words(chance, 9)} |" for _ in range(chance.randint(1, 20)))
    return "| a | b |\n|---|:-:|\n" + "\n".join(rows)


def _code(chance: Chance) -> str:
    fence = chance.choice(["```", "~~~", "````"])
    body = "\n".join(_words(chance, 8) for _ in range(chance.randint(0, 30)))
    return f"{fence}sh\n{body}" + (f"\n{fence}" if chance.random() < 0.8 else "")


def _indented(chance: Chance) -> str:
    return "\n\n".join(f"    {_sentences(chance)}" for _ in range(chance.choice([1, 3, 40])))


def _chat(chance: Chance) -> str:
    names = ("Ann", "李雷", "THE PRESIDENT", "[09:02] Tom")
    return "\n".join(f"{chance.choice(names)}: {_words(chance, 12)}" for _ in range(chance.randint(1, 30)))


def _comment(chance: Chance) -> str:
    return (
        f"<!--{chance.choice([' ', chr(10)])}{_sentences(chance)}{chance.choice(['-->', '', '--', ' --> x'])}"
    )


def _wrapped(maker: Maker, prefix: str) -> Maker:
    return lambda chance: "\n".join(prefix + line for line in maker(chance).split("\n"))


def _long_line(chance: Chance) -> str:
    return _words(chance, LONG_LINE) if chance.random() < 0.1 else _sentences(chance, 60).replace("\n", " ")


def _anything(chance: Chance) -> str:
    return "".join(chr(chance.choice([*range(1, 0x250), *range(0x590, 0x700), 0x1F600])) for _ in range(30))


MAKERS: tuple[Maker, ...] = (
    *(_heading, _heading, _title, _sentences, _sentences, _words, _list, _table, _code, _indented),
    *(_chat, _comment, _long_line, _anything),
    _wrapped(_sentences, "> "),
    _wrapped(_code, "  "),
    _wrapped(_list, "> "),
    lambda chance: f"<div>\n{_sentences(chance)}\n{chance.choice(['</div>', ''])}",
    lambda chance: f"[ref]: /url '{_words(chance, 4)}'\n[other]: <x>",
    lambda chance: chance.choice(["---", "***", "", " ", "\t", "\n\n\n", "\\", "\r", "\f\n"]),
)


def make_text(seed: int) -> str:
    """A text as somebody might have written it: only the seed decides; ends of lines are of any kind."""
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    parts = [chance.choice(MAKERS)(chance) for _ in range(chance.randint(0, 14))]
    head = chance.choice(["", "", "", "---\ntitle: x\n---\n", "\ufeff", "\n \n"])
    text = head + chance.choice(["\n", "\n\n", "\n\n"]).join(parts)
    return text.replace("\n", chance.choice(["\n", "\n", "\n", "\r\n", "\r"]))
