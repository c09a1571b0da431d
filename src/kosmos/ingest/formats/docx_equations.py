"""Equations of Word (OMML) as LaTeX."""

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# The same names in files saved as "Strict Open XML".
STRICT_M = "{http://purl.oclc.org/ooxml/officeDocument/math}"
_DEEPEST = 60

_SYMBOLS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\epsilon", "ζ": r"\zeta",
    "η": r"\eta", "θ": r"\theta", "ι": r"\iota", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu",
    "ξ": r"\xi", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "υ": r"\upsilon", "φ": r"\phi",
    "χ": r"\chi", "ψ": r"\psi", "ω": r"\omega", "ϕ": r"\phi", "ϵ": r"\varepsilon", "ϑ": r"\vartheta",
    "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda", "Ξ": r"\Xi", "Π": r"\Pi",
    "Σ": r"\Sigma", "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega", "∞": r"\infty", "±": r"\pm", "∓": r"\mp",
    "×": r"\times", "÷": r"\div", "⋅": r"\cdot", "·": r"\cdot", "∗": "*", "≤": r"\leq", "≥": r"\geq",
    "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∼": r"\sim", "∝": r"\propto", "∈": r"\in",
    "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq", "∪": r"\cup", "∩": r"\cap", "∅": r"\emptyset",
    "∀": r"\forall", "∃": r"\exists", "¬": r"\neg", "∧": r"\wedge", "∨": r"\vee", "→": r"\to",
    "←": r"\leftarrow", "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "⇔": r"\Leftrightarrow",
    "↦": r"\mapsto", "∂": r"\partial", "∇": r"\nabla", "∑": r"\sum", "∏": r"\prod", "∫": r"\int",
    "∬": r"\iint", "∭": r"\iiint", "∮": r"\oint", "⋃": r"\bigcup", "⋂": r"\bigcap", "√": r"\surd",
    "…": r"\ldots", "⋯": r"\cdots", "⋮": r"\vdots", "⋱": r"\ddots", "−": "-", "′": "'", "°": r"^{\circ}",
    "∠": r"\angle", "⊥": r"\perp", "∥": r"\parallel", "ℝ": r"\mathbb{R}", "ℕ": r"\mathbb{N}",
    "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "ℏ": r"\hbar", "ℓ": r"\ell",
    "∘": r"\circ", "⊕": r"\oplus", "⊗": r"\otimes", "≪": r"\ll", "≫": r"\gg", "∴": r"\therefore",
    "\\": r"\backslash", "{": r"\{", "}": r"\}", "#": r"\#", "$": r"\$", "%": r"\%", "&": r"\&", "_": r"\_",
    "~": r"\sim", "–": "-",
}  # fmt: skip
_ACCENTS = {
    "\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar", "\u0305": r"\overline", "\u0307": r"\dot",
    "\u0308": r"\ddot", "\u030c": r"\check", "\u0306": r"\breve", "\u20d7": r"\vec", "\u0301": r"\acute",
    "\u0300": r"\grave", "^": r"\hat", "~": r"\tilde", "¯": r"\bar", "→": r"\vec", "˙": r"\dot",
}  # fmt: skip
_FUNCTIONS = frozenset(
    (
        "arccos", "arcsin", "arctan", "cos", "cosh", "cot", "csc", "deg", "det", "dim", "exp", "gcd", "inf",
        "ker", "lim", "ln", "log", "max", "min", "sec", "sin", "sinh", "sup", "tan", "tanh",
    )
)  # fmt: skip
_OPEN = {
    "(": "(",
    "[": "[",
    "{": r"\{",
    "|": "|",
    "‖": r"\|",
    "⌊": r"\lfloor",
    "⌈": r"\lceil",
    "⟨": r"\langle",
    "": ".",
}
_CLOSE = {
    ")": ")",
    "]": "]",
    "}": r"\}",
    "|": "|",
    "‖": r"\|",
    "⌋": r"\rfloor",
    "⌉": r"\rceil",
    "⟩": r"\rangle",
    "": ".",
}


def to_latex(math: Element) -> str:
    """The LaTeX of an equation; parts of unknown kind give the text within them."""
    return " ".join(_children(math, 0).split())


def _children(element: Element | None, depth: int) -> str:
    if element is None:
        return ""
    return _join(_convert(child, depth + 1) for child in element)


def _join(parts: Iterable[str]) -> str:
    """Parts one after the other; a space keeps a command from the letter after it."""
    joined = ""
    for part in parts:
        if part and joined and part[0].isalnum() and _ends_in_command(joined):
            joined += " "
        joined += part
    return joined


def _ends_in_command(text: str) -> bool:
    head = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return head.endswith("\\") and head != text


def _convert(element: Element, depth: int) -> str:
    if depth > _DEEPEST:
        raise RecursionError
    convert = _KINDS.get(name_of(element))
    if convert is None:
        return "" if name_of(element).endswith("Pr") else _children(element, depth)
    return convert(element, depth)


def name_of(element: Element) -> str:
    """The local name of an element, whichever of the two namespaces it is in."""
    return str(element.tag).rpartition("}")[2]


def _part(element: Element, name: str, depth: int) -> str:
    found = next((child for child in element if name_of(child) == name), None)
    return _children(found, depth)


def _property(element: Element, name: str, default: str) -> str:
    for holder in element:
        if name_of(holder).endswith("Pr"):
            for item in holder:
                if name_of(item) == name:
                    value = next((value for key, value in item.attrib.items() if key.endswith("}val")), None)
                    return default if value is None else value
    return default


def _run(element: Element, _depth: int) -> str:
    text = "".join(child.text or "" for child in element if name_of(child) == "t")
    if _property(element, "nor", "0") != "0" or any(
        name_of(item) == "nor" for holder in element if name_of(holder) == "rPr" for item in holder
    ):
        plain = "".join("\\" + letter if letter in "{}#$%&_" else letter for letter in text)
        return f"\\text{{{plain}}}"
    if text.strip() in _FUNCTIONS:
        return "\\" + text.strip()
    return _join(_SYMBOLS.get(letter, letter) for letter in text)


def _fraction(element: Element, depth: int) -> str:
    top, bottom = _part(element, "num", depth), _part(element, "den", depth)
    kind = _property(element, "type", "bar")
    if kind == "lin":
        return f"{{{top}}}/{{{bottom}}}"
    return f"\\binom{{{top}}}{{{bottom}}}" if kind == "noBar" else f"\\frac{{{top}}}{{{bottom}}}"


def _scripted(element: Element, depth: int) -> str:
    base, sub, sup = (_part(element, name, depth) for name in ("e", "sub", "sup"))
    return f"{{{base}}}" + (f"_{{{sub}}}" if sub else "") + (f"^{{{sup}}}" if sup else "")


def _prescripted(element: Element, depth: int) -> str:
    base, sub, sup = (_part(element, name, depth) for name in ("e", "sub", "sup"))
    return f"{{}}_{{{sub}}}^{{{sup}}}{{{base}}}"


def _root(element: Element, depth: int) -> str:
    degree, base = _part(element, "deg", depth), _part(element, "e", depth)
    return f"\\sqrt[{degree}]{{{base}}}" if degree else f"\\sqrt{{{base}}}"


def _nary(element: Element, depth: int) -> str:
    sign = _property(element, "chr", "∫")
    base, sub, sup = (_part(element, name, depth) for name in ("e", "sub", "sup"))
    limits = (f"_{{{sub}}}" if sub else "") + (f"^{{{sup}}}" if sup else "")
    return f"{_SYMBOLS.get(sign, sign)}{limits} {base}"


def _delimited(element: Element, depth: int) -> str:
    opening, closing = _property(element, "begChr", "("), _property(element, "endChr", ")")
    between = _SYMBOLS.get(_property(element, "sepChr", "|"), _property(element, "sepChr", "|"))
    inner = f" {between} ".join(_children(child, depth) for child in element if name_of(child) == "e")
    return f"\\left{_OPEN.get(opening, opening)} {inner} \\right{_CLOSE.get(closing, closing)}"


def _function(element: Element, depth: int) -> str:
    return f"{_part(element, 'fName', depth)} {{{_part(element, 'e', depth)}}}"


def _matrix(element: Element, depth: int) -> str:
    rows = [
        " & ".join(_children(cell, depth) for cell in row if name_of(cell) == "e")
        for row in element
        if name_of(row) == "mr"
    ]
    return "\\begin{matrix} " + " \\\\ ".join(rows) + " \\end{matrix}"


def _array(element: Element, depth: int) -> str:
    rows = [_children(child, depth) for child in element if name_of(child) == "e"]
    return "\\begin{aligned} " + " \\\\ ".join(rows) + " \\end{aligned}"


def _accent(element: Element, depth: int) -> str:
    return f"{_ACCENTS.get(_property(element, 'chr', '^'), chr(92) + 'hat')}{{{_part(element, 'e', depth)}}}"


def _bar(element: Element, depth: int) -> str:
    command = "\\overline" if _property(element, "pos", "bot") == "top" else "\\underline"
    return f"{command}{{{_part(element, 'e', depth)}}}"


def _limit(element: Element, depth: int) -> str:
    base, limit = _part(element, "e", depth), _part(element, "lim", depth)
    mark = "_" if name_of(element) == "limLow" else "^"
    if base.startswith("\\") and base[1:] in _FUNCTIONS:
        return f"{base}{mark}{{{limit}}}"
    command = "\\underset" if mark == "_" else "\\overset"
    return f"{command}{{{limit}}}{{{base}}}"


def _group(element: Element, depth: int) -> str:
    command = "\\overbrace" if _property(element, "pos", "bot") == "top" else "\\underbrace"
    return f"{command}{{{_part(element, 'e', depth)}}}"


_KINDS: dict[str, Callable[[Element, int], str]] = {
    "r": _run,
    "f": _fraction,
    "sSup": _scripted,
    "sSub": _scripted,
    "sSubSup": _scripted,
    "sPre": _prescripted,
    "rad": _root,
    "nary": _nary,
    "d": _delimited,
    "func": _function,
    "m": _matrix,
    "eqArr": _array,
    "acc": _accent,
    "bar": _bar,
    "limLow": _limit,
    "limUpp": _limit,
    "groupChr": _group,
}
