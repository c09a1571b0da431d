"""Equations of Word as LaTeX."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.ingest.formats.docx_equations import to_latex

from .samples_office import MATH


def _latex(inner: str) -> str:
    return to_latex(ElementTree.fromstring(f"<m:oMath {MATH}>{inner}</m:oMath>"))


def _run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _in(name: str, text: str) -> str:
    return f"<m:{name}>{_run(text)}</m:{name}>"


SUM = '<m:naryPr><m:chr m:val="∑"/></m:naryPr>'


@pytest.mark.parametrize(
    ("inner", "latex"),
    [
        (_run("x+1"), "x+1"),
        (_run("α") + _run("x"), r"\alpha x"),
        (_run("a≤b"), r"a\leq b"),
        (f"<m:f>{_in('num', 'a')}{_in('den', 'b')}</m:f>", r"\frac{a}{b}"),
        (f"<m:sSup>{_in('e', 'x')}{_in('sup', '2')}</m:sSup>", "{x}^{2}"),
        (f"<m:sSubSup>{_in('e', 'x')}{_in('sub', 'i')}{_in('sup', '2')}</m:sSubSup>", "{x}_{i}^{2}"),
        (f"<m:rad><m:deg/>{_in('e', 'x')}</m:rad>", r"\sqrt{x}"),
        (f"<m:rad>{_in('deg', '3')}{_in('e', 'x')}</m:rad>", r"\sqrt[3]{x}"),
        (
            f"<m:nary>{SUM}{_in('sub', 'i=1')}{_in('sup', 'n')}{_in('e', 'i')}</m:nary>",
            r"\sum_{i=1}^{n} i",
        ),
        (
            f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>{_in("e", "x")}</m:d>',
            r"\left[ x \right]",
        ),
        (f"<m:func>{_in('fName', 'sin')}{_in('e', 'x')}</m:func>", r"\sin {x}"),
        (
            f"<m:m><m:mr>{_in('e', '1')}{_in('e', '2')}</m:mr><m:mr>{_in('e', '3')}</m:mr></m:m>",
            r"\begin{matrix} 1 & 2 \\ 3 \end{matrix}",
        ),
        (f'<m:acc><m:accPr><m:chr m:val="&#x20D7;"/></m:accPr>{_in("e", "v")}</m:acc>', r"\vec{v}"),
        (f"<m:limLow>{_in('e', 'lim')}{_in('lim', 'x→0')}</m:limLow>", r"\lim_{x\to 0}"),
        ("<m:r><m:rPr><m:nor/></m:rPr><m:t>if 5% off</m:t></m:r>", r"\text{if 5\% off}"),
        (f"<m:unknown>{_run('kept')}</m:unknown>", "kept"),
    ],
)
def test_each_kind(inner: str, latex: str) -> None:
    assert _latex(inner) == latex


def test_depth_ends_in_an_error_and_not_in_a_crash() -> None:
    with pytest.raises(RecursionError):
        _latex("<m:box><m:e>" * 100 + "</m:e></m:box>" * 100)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="abc{}$\\%&#_^~αβ≤∑ 1+", max_size=30))
def test_dollars_and_braces_never_break_out(text: str) -> None:
    latex = _latex(_run(text.replace("&", "&amp;")))
    bare = latex.replace("\\{", "").replace("\\}", "").replace("\\$", "")
    assert "$" not in bare
    assert bare.count("{") == bare.count("}")
