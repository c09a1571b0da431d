"""Generated Markdown, good and broken: whatever comes in, the rules hold.

500 texts by default; `KOSMOS_FUZZ_TEXTS=20000` runs as many as one likes.
"""

import os
import random
from collections.abc import Callable

from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.rules import check_chunks
from kosmos.chunking.structure import chunk_by_structure
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text

TEXTS = int(os.environ.get("KOSMOS_FUZZ_TEXTS", "500"))
SIZES = (ChunkSizes(), ChunkSizes(64, 128, 512), ChunkSizes(10, 20, 40))
TINY = ChunkSizes(1, 1, 1)
WORDS = (
    *("pod", "node", "Kubernetes", "the", "of", "容器", "节点", "集群。", "调度！", "e.g.", "U.S.", "v1.2.3"),
    *("\\n", "`code`", "**bold**", "[link](/url)", "<b>tag</b>", "<!--", "-->", "```", "|", "{{< note >}}"),
    *(
        "👩\u200d👧",
        "e\u0301",
        "שלום",
        "مرحبا",
        "\u2028",
        "\x0c",
        "\x85",
        "\u3000",
        "https://example.org/a?b=c",
    ),
)

Chance = random.Random
Maker = Callable[[Chance], str]


def _words(chance: Chance, most: int = 60) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randrange(1, most)))


def _sentences(chance: Chance) -> str:
    return " ".join(
        _words(chance, 15) + chance.choice([".", "。", "!", "?"]) for _ in range(chance.randrange(1, 9))
    )


def _heading(chance: Chance) -> str:
    if chance.random() < 0.2:
        return f"{_words(chance, 5)}\n{chance.choice(['===', '---'])}"
    return f"{'#' * chance.randrange(1, 8)} {_words(chance, 6)}"


def _list(chance: Chance) -> str:
    mark = chance.choice(["-", "*", "1.", "2)"])
    items = (
        f"{' ' * chance.choice([0, 0, 2, 4])}{mark} {_words(chance, 20)}"
        for _ in range(chance.randrange(1, 30))
    )
    return chance.choice(["\n", "\n\n"]).join(items)


def _table(chance: Chance) -> str:
    rows = (f"| {_words(chance, 5)} | {_words(chance, 9)} |" for _ in range(chance.randrange(1, 30)))
    return "| a | b |\n|---|:-:|\n" + "\n".join(rows)


def _code(chance: Chance) -> str:
    fence = chance.choice(["```", "~~~", "````", "    "])
    indent = "" if fence.strip() else "    "
    body = "\n".join(indent + _words(chance, 8) for _ in range(20))
    return f"{fence}sh\n{body}" + (f"\n{fence}" if chance.random() < 0.8 else "")


def _wrapped(maker: Maker, prefix: str) -> Maker:
    return lambda chance: "\n".join(prefix + line for line in maker(chance).split("\n"))


def _long_line(chance: Chance) -> str:
    return _words(chance, 5000) if chance.random() < 0.1 else _sentences(chance) * 5


MAKERS: tuple[Maker, ...] = (
    _heading,
    _heading,
    _sentences,
    _sentences,
    _words,
    _list,
    _table,
    _code,
    _long_line,
    _wrapped(_sentences, "> "),
    _wrapped(_code, "  "),
    _wrapped(_code, "> "),
    lambda chance: f"<!--\n{_sentences(chance)}\n{chance.choice(['-->', '', '--'])}",
    lambda chance: f"<div>\n{_sentences(chance)}\n</div>",
    lambda chance: f"[ref]: /url '{_words(chance, 4)}'\n[other]: <x>",
    lambda chance: chance.choice(["---", "***", "", " ", "\t", "\n\n\n", "\\"]),
    lambda chance: "".join(chr(chance.randrange(1, 0xD7FF)) for _ in range(30)),
)


def make_text(seed: int) -> str:
    """A canonical text that only the seed decides."""
    chance = random.Random(seed)
    parts = [chance.choice(MAKERS)(chance) for _ in range(chance.randrange(1, 14))]
    head = "---\ntitle: x\n---\n" if chance.random() < 0.1 else ""
    return clean_text(head + chance.choice(["\n", "\n\n", "\r\n\r\n"]).join(parts))


def test_the_rules_hold_for_generated_markdown() -> None:
    failed: list[object] = []
    for seed in range(TEXTS):
        text = make_text(seed)
        sizes = TINY if seed % 50 == 0 else SIZES[seed % len(SIZES)]
        failed += [
            (seed, item)
            for item in check_chunks(text, chunk_by_structure(text, parse_blocks(text), sizes=sizes))
        ]
    assert failed == []
