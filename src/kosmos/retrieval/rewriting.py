"""Query understanding: a model puts a question into the words and the language of the documents."""

import json
import re
from collections.abc import Sequence

from kosmos.domain.credentials import Credential
from kosmos.llm.chat import complete
from kosmos.prompts import load_prompt

MOST = 3
MAX_CHARS = 500
NAMES = {"zh": "Chinese", "en": "English"}
_LIST = re.compile(r"\[[^\[\]]*\]", re.DOTALL)


async def rewrite_by_model(
    credential: Credential, key: str | None, question: str, languages: Sequence[str], *, seconds: float
) -> list[str]:
    """At most three queries for the question; none where the model has nothing better to say."""
    names = [NAMES[code] for code in languages if code in NAMES] or list(NAMES.values())
    prompt = load_prompt("rewrite_question").render(
        question=question, languages=" and ".join(names), most=str(MOST)
    )
    messages = [{"role": "user", "content": prompt}]
    answer = await complete(credential, key, messages, seconds=seconds, options={"temperature": 0})
    return read_queries(answer.text, question)


def read_queries(text: str, question: str) -> list[str]:
    """The queries of a model's answer, each once and none that is the question itself."""
    for found in reversed(_LIST.findall(text)):
        try:
            given = json.loads(found)
        except (ValueError, RecursionError):
            continue
        lines = [" ".join(item.split())[:MAX_CHARS] for item in given if isinstance(item, str)]
        fresh = dict.fromkeys(line for line in lines if line and line != question.strip())
        return list(fresh)[:MOST]
    return []
