"""The documents and questions of a load run, in Chinese and English. Does nothing when run."""

import random
from dataclasses import dataclass

_PARTS = {
    "en": (
        ("pump", "valve", "sensor", "gateway", "turbine", "cooling loop", "battery rack", "crane", "scanner"),
        ("north hall", "quay 4", "cold store", "control room", "depot", "roof deck", "tunnel B", "dry dock"),
        ("is inspected", "is flushed", "is recalibrated", "is replaced", "is logged", "is shut down"),
    ),
    "zh": (
        ("水泵", "阀门", "传感器", "网关", "汽轮机", "冷却回路", "电池架", "起重机", "扫描仪"),
        ("北厅", "四号码头", "冷库", "控制室", "仓库", "屋顶平台", "乙号隧道", "干船坞"),
        ("需要检查", "需要冲洗", "重新校准", "进行更换", "登记在册", "停机"),
    ),
}
_SENTENCES = {
    "en": "The {thing} {number} in the {place} {act} every {days} days; the limit is {limit} units.",
    "zh": "{place}的{number}号{thing}每{days}天{act}一次，上限为{limit}个单位。",
}
_HEADINGS = {"en": "Care of the {thing} in the {place}", "zh": "{place}{thing}的维护"}
_QUESTIONS = {
    "en": (
        "how often is the {thing} in the {place} inspected",
        "limit of {thing} {number}",
        "{place} {thing} maintenance every {days} days",
    ),
    "zh": ("{place}的{thing}多久检查一次", "{number}号{thing}的上限是多少", "{place}{thing}维护周期"),
}
LANGUAGES = tuple(_PARTS)


@dataclass(frozen=True, slots=True)
class Script:
    """What the model double says to everything: an answer with a citation, in pieces, never faster."""

    delay: float = 0.3
    pace: float = 0.02
    content: str = (
        "It is inspected at fixed intervals, and each inspection is logged in the book of the hall [1]. "
        "每次检查都有记录 [1]。"
    )


def make_document(rng: random.Random, *, sections: int = 3, sentences: int = 6) -> str:
    """A document in one of the languages: a title, and sections of sentences with numbers."""
    language = rng.choice(LANGUAGES)
    parts = [f"# {_fill(_HEADINGS[language], rng, language)}"]
    for _ in range(sections):
        parts.append(f"## {_fill(_HEADINGS[language], rng, language)}")
        parts.append("\n".join(_fill(_SENTENCES[language], rng, language) for _ in range(sentences)))
    return "\n\n".join(parts) + "\n"


def make_question(rng: random.Random) -> str:
    """A question in one of the languages."""
    language = rng.choice(LANGUAGES)
    return _fill(rng.choice(_QUESTIONS[language]), rng, language)


def _fill(pattern: str, rng: random.Random, language: str) -> str:
    things, places, acts = _PARTS[language]
    return pattern.format(
        thing=rng.choice(things),
        place=rng.choice(places),
        act=rng.choice(acts),
        number=rng.randint(1, 999),
        days=rng.randint(2, 360),
        limit=rng.randint(10, 9999),
    )
