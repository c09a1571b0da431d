"""Embeddings and reranking without a model: the same text always gives the same numbers."""

import base64
import hashlib
import math
import re
import struct
from typing import Any

from kosmos.doubles.chat import estimate_tokens
from kosmos.doubles.replies import Reply
from kosmos.doubles.requests import Body
from kosmos.errors import InvalidInput

MAX_DIMENSION = 65_536
# A Chinese character is a word of its own; other words are runs of letters and digits.
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")


def embed(text: str, dimension: int) -> tuple[float, ...]:
    """A vector of length 1 made from a hash of the text, exact in float32."""
    raw = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(4 * dimension)
    values = [number / 2**31 - 1 for number in struct.unpack(f"<{dimension}I", raw)]
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    packed = struct.pack(f"<{dimension}f", *(value / length for value in values))
    return struct.unpack(f"<{dimension}f", packed)


def embeddings(body: Body, dimension: int) -> dict[str, Any]:
    """The answer to an embeddings request."""
    texts = _inputs(body.get("input"))
    wanted = body.get("dimensions") or dimension
    if not isinstance(wanted, int) or not 1 <= wanted <= MAX_DIMENSION:
        raise InvalidInput(f"dimensions must be a number from 1 to {MAX_DIMENSION}")
    as_base64 = body.get("encoding_format") == "base64"
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        vector = embed(text, wanted)
        packed = base64.b64encode(struct.pack(f"<{wanted}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": packed if as_base64 else vector})
    tokens = estimate_tokens(*texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body.get("model", ""), "data": data, "usage": usage}


def spoil(answer: dict[str, Any], body: Body, reply: Reply) -> dict[str, Any]:
    """The answer with what the script wants to be wrong with its vectors."""
    if reply.dimension is not None:
        answer = embeddings({**body, "dimensions": reply.dimension or 1}, 1)
    data = answer["data"] if reply.vectors is None else _repeat(answer["data"], reply.vectors)
    if reply.not_a_number:
        data = [{**item, "embedding": _poison(item["embedding"])} for item in data]
    return {**answer, "data": data}


def _repeat(data: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [{**data[place % len(data)], "index": place} for place in range(count)]


def _poison(vector: Any) -> Any:
    """The same vector, in either form, beginning with what is no number."""
    if isinstance(vector, str):
        return base64.b64encode(struct.pack("<f", math.nan) + base64.b64decode(vector)[4:]).decode()
    return [math.nan, *vector[1:]]


def _inputs(given: Any) -> list[str]:
    """The texts to embed; the protocol also allows lists of token numbers."""
    items = given if isinstance(given, list) else [given]
    if items and all(isinstance(item, int) for item in items):
        items = [items]
    texts = [" ".join(map(str, item)) if isinstance(item, list) else item for item in items]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise InvalidInput("input must be a text or a list of texts, none of them empty")
    return texts


def relevance(query: str, document: str) -> float:
    """The share of the words of the query that the document has too."""
    wanted = set(_WORD.findall(query.casefold()))
    found = wanted & set(_WORD.findall(document.casefold()))
    return len(found) / len(wanted) if wanted else 0.0


def rerank(body: Body, number: int) -> dict[str, Any]:
    """The answer to a rerank request: best first, ties in the order given."""
    query, documents, top_n = body.get("query"), body.get("documents"), body.get("top_n")
    if not isinstance(query, str) or not isinstance(documents, list) or not documents:
        raise InvalidInput("query must be a text, and documents a list that is not empty")
    if top_n is not None and (not isinstance(top_n, int) or top_n < 1):
        raise InvalidInput("top_n must be a positive number")
    texts: list[Any] = [item.get("text") if isinstance(item, dict) else item for item in documents]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput("each document must be a text or an object with a text")
    scored = sorted(((-relevance(query, text), index) for index, text in enumerate(texts)))[:top_n]
    results: list[dict[str, Any]] = [{"index": at, "relevance_score": -score + 0.0} for score, at in scored]
    if body.get("return_documents"):
        results = [{**result, "document": {"text": texts[result["index"]]}} for result in results]
    usage = {"total_tokens": estimate_tokens(query, *texts)}
    return {"id": f"rerank-{number}", "model": body.get("model", ""), "results": results, "usage": usage}
