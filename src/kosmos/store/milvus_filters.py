"""A filter as a Milvus expression over the `filters` column (see `milvus_rows`)."""

from kosmos.store.filters import And, Contains, Eq, Filter, In, Not, Or, Prefix, Range, Scalar
from kosmos.store.milvus_rows import brief, tag

ALL = "1 == 1"
NONE = "1 == 0"


def to_expression(where: Filter) -> str:
    """Holds for exactly the rows that match."""
    return _compile(where, holds=True)


def _compile(where: Filter, *, holds: bool) -> str:
    """`not` goes down to the leaves: a comparison with what is missing is neither true nor false."""
    match where:
        case Not(part):
            return _compile(part, holds=not holds)
        case And(parts):
            return _joined(parts, holds, "and" if holds else "or", ALL if holds else NONE)
        case Or(parts):
            return _joined(parts, holds, "or" if holds else "and", NONE if holds else ALL)
        case _:
            return _leaf(where, holds=holds)


def _joined(parts: tuple[Filter, ...], holds: bool, word: str, nothing: str) -> str:
    return f" {word} ".join(f"({_compile(part, holds=holds)})" for part in parts) or nothing


def _leaf(leaf: Eq | In | Range | Contains | Prefix, *, holds: bool) -> str:
    if leaf.field == "pk":
        text = _pk_leaf(leaf)
        return text if holds else f"not ({text})"
    match leaf:
        case Eq(field, value):
            return _any([_equal(field, value)], holds=holds)
        case In(field, values):
            return _any([_equal(field, value) for value in values], holds=holds)
        case Range(field, low, high):
            return _any(_range(field, low, high), holds=holds)
        case Contains(field, value):
            return _any(
                [(_key("l", field), f"json_contains({_key('l', field)}, {_text(tag(value))})")], holds=holds
            )
        case Prefix(field, value):
            return _any(_prefix(field, value), holds=holds)


_Test = tuple[str, str]  # the key that must be there, and what must hold then; "" for nothing more


def _any(tests: list[_Test], *, holds: bool) -> str:
    if not tests:
        return NONE if holds else ALL
    shown = [_test(key, text, holds=holds) for key, text in tests]
    return f" {'or' if holds else 'and'} ".join(f"({each})" for each in shown)


def _test(key: str, text: str, *, holds: bool) -> str:
    if key.startswith("!"):
        return f"{'not ' if holds else ''}exists {key[1:]}"
    there = f"exists {key}"
    if not text:
        return there if holds else f"not {there}"
    return f"{there} and ({text})" if holds else f"not {there} or not ({text})"


def _equal(field: str, value: Scalar) -> _Test:
    if value is None:
        return "!" + _key("x", field), ""
    if isinstance(value, str):
        return _key("t", field), f"{_key('t', field)} == {_text(brief(value))}"
    return _key("e", field), f"{_key('e', field)} == {float(value)!r}"


def _range(field: str, low: int | float | str | None, high: int | float | str | None) -> list[_Test]:
    bounds = [bound for bound in (low, high) if bound is not None]
    if not bounds:
        return [(_key("x", field), "")]
    texts = [isinstance(bound, str) for bound in bounds]
    if any(texts) and not all(texts):
        return []
    key = _key("t" if texts[0] else "n", field)
    tests = [
        f"{key} {sign} {_value(bound)}" for sign, bound in ((">=", low), ("<=", high)) if bound is not None
    ]
    return [(key, " and ".join(tests))]


def _prefix(field: str, value: str) -> list[_Test]:
    key = _key("t", field)
    if not value:
        return [(key, "")]
    tests = [f"{key} >= {_text(value)}"]
    if after := next_text(value):
        tests.append(f"{key} < {_text(after)}")
    return [(key, " and ".join(tests))]


def next_text(prefix: str) -> str:
    """The first text behind all that begin so; empty when there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[at]) + 1
        if code <= 0x10FFFF:
            return prefix[:at] + chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)
    return ""


def _pk_leaf(leaf: Eq | In | Range | Contains | Prefix) -> str:
    match leaf:
        case Eq(_, value):
            return f"pk == {_text(value)}" if isinstance(value, str) else NONE
        case In(_, values):
            return f"pk in [{', '.join(_text(value) for value in values if isinstance(value, str))}]"
        case Range(_, low, high):
            if isinstance(low, int | float) or isinstance(high, int | float):
                return NONE
            tests = [
                f"pk {sign} {_text(bound)}"
                for sign, bound in ((">=", low), ("<=", high))
                if bound is not None
            ]
            return " and ".join(tests) or ALL
        case Prefix(_, value):
            after = next_text(value)
            return f"pk >= {_text(value)}" + (f" and pk < {_text(after)}" if after else "")
        case Contains():
            return NONE


def _key(kind: str, field: str) -> str:
    return f"filters[{_text(f'{kind}_{field}')}]"


def _value(bound: int | float | str) -> str:
    return _text(bound) if isinstance(bound, str) else repr(float(bound))


def _text(text: str) -> str:
    """A literal. Milvus reads few escapes, and none by number."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'
