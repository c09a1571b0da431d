"""Pages: what is content comes out as Markdown, what is furniture does not."""

import base64
import hashlib

import pytest

from kosmos.domain.hints import Hints
from kosmos.errors import TooLarge
from kosmos.ingest.formats import html as reader
from kosmos.ingest.formats.html import extract, page_extract

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PAGE = """<!doctype html><html lang="zh"><head><title>Pods | Site</title>
<meta name=description content="关于 Pod">
<link rel=canonical href="https://example.org/docs/pods/"></head><body>
<header><a href="/">HOME</a></header><nav>NAVIGATION</nav><div class="sidebar">SIDEBAR</div>
<main><h1>Pods<a class="self" href="#pods">#</a></h1><a href="https://git.example/edit">Edit this page</a>
<a href="https://git.example/edit">编辑此页</a>{content}<script>SCRIPT</script></main>
<footer>FOOTER</footer></body></html>"""


def _content(html: str, url: str = "") -> str:
    """The Markdown below the heading of a page with this content."""
    markdown = extract(PAGE.replace("{content}", html).encode(), "page.html", hints=Hints(url=url)).markdown
    assert markdown.startswith("# Pods")
    return markdown.removeprefix("# Pods").strip("\n")


def test_only_content_is_left() -> None:
    result = extract(PAGE.replace("{content}", "<p>正文</p>").encode(), "page.html")
    assert result.markdown == "# Pods\n\n正文"
    assert result.title == "Pods"
    assert result.metadata == {
        "description": "关于 Pod",
        "language": "zh",
        "canonical_url": "https://example.org/docs/pods/",
    }


NUMBERED = """<div class="highlight"><table class="highlighttable"><tr>
<td class="linenos"><pre>1\n2</pre></td>
<td class="code"><pre class="language-yaml">a: 1\nb: 2</pre></td></tr></table></div>"""
SPHINX = """<div class="highlight-yaml notranslate"><div class="highlight"><pre><span>a</span>: 1
b: 2\n</pre></div></div>"""
GUTTER = """<pre data-lang="yaml"><code><span class="ln">1</span>a: 1
<span class="ln">2</span>b: 2\n</code></pre>"""


@pytest.mark.parametrize(
    "html",
    [
        '<pre><code class="language-yaml">a: 1\nb: 2\n</code></pre>',
        '<pre class="lang-yaml">a: 1\nb: 2</pre>',
        '<div class="highlight highlight-source-yaml"><pre>a: 1\nb: 2</pre></div>',
        '<pre class="code literal-block" lang="yaml"><code>a: 1\nb: 2</code></pre>',
        '<pre><code class="language-yaml">a: 1<br>b: 2</code></pre>',
        NUMBERED,
        SPHINX,
        GUTTER,
    ],
)
def test_code_keeps_its_language_and_loses_line_numbers(html: str) -> None:
    assert _content(html) == "```yaml\na: 1\nb: 2\n```"


def test_code_without_a_language() -> None:
    assert _content("<pre>x &lt; y\n\n  z</pre>") == "```\nx < y\n\n  z\n```"
    assert _content("<p>run <code>a &lt;b&gt;</code></p>") == "run `a <b>`"


TABS = "**Linux**\n\n```sh\napt\n```\n\n**macOS**\n\nbrew"
BOOTSTRAP = """<ul class="nav nav-tabs"><li><a href="#a">Linux</a></li><li><a href="#b">macOS</a></li></ul>
<div class="tab-content"><div id=a class="tab-pane">{0}</div>
<div id=b class=tab-pane style="display:none">{1}</div></div>"""
CONTROLS = """<div role=tablist><button role=tab aria-controls=a>Linux</button>
<button role=tab aria-controls=b>macOS</button></div>
<div role=tabpanel id=a>{0}</div><div role=tabpanel id=b hidden>{1}</div>"""
LABELLED = """<div role=tablist><button role=tab id=x>Linux</button><button role=tab id=y>macOS</button></div>
<div role=tabpanel aria-labelledby=x>{0}</div><div role=tabpanel aria-labelledby=y hidden>{1}</div>"""
ORDERED = """<div><ul role=tablist><li role=tab>Linux</li><li role=tab>macOS</li></ul>
<div role=tabpanel>{0}</div><div role=tabpanel hidden>{1}</div></div>"""
MATERIAL = """<div class="tabbed-set">
<div class="tabbed-labels"><label>Linux</label><label>macOS</label></div>
<div class="tabbed-content">
<div class="tabbed-block">{0}</div><div class="tabbed-block">{1}</div></div></div>"""
DESIGN = """<div class="sd-tab-set">
<label class="sd-tab-label">Linux</label><div class="sd-tab-content">{0}</div>
<label class="sd-tab-label">macOS</label><div>{1}</div></div>"""


@pytest.mark.parametrize("html", [BOOTSTRAP, CONTROLS, LABELLED, ORDERED, MATERIAL, DESIGN])
def test_tabs_carry_their_labels(html: str) -> None:
    panes = "<pre><code class='language-sh'>apt</code></pre>", "<p>brew</p>"
    assert _content(html.format(*panes)) == TABS


@pytest.mark.parametrize(
    "html",
    [
        '<div class="alert alert-info"><h4 class="alert-heading">Note:</h4><p>Mind.</p></div>',
        '<div class="admonition note"><p class="admonition-title">Note:</p><p>Mind.</p></div>',
        '<aside class="note"><p><strong>Note:</strong></p><p>Mind.</p></aside>',
        '<div class="markdown-alert"><p class="markdown-alert-title">Note:</p><p>Mind.</p></div>',
    ],
)
def test_notes_are_quotes(html: str) -> None:
    assert _content(f"<p>before</p>{html}<p>after</p>") == "before\n\n> **Note:**\n>\n> Mind.\n\nafter"


def test_notes_in_notes() -> None:
    inner = '<div class="admonition tip"><p>inner</p></div>'
    markdown = _content(
        f'<div class="admonition warning"><p class="admonition-title">警告</p><p>outer</p>{inner}</div>'
    )
    assert markdown == "> **警告**\n>\n> outer\n>\n> > **Tip**\n> >\n> > inner"


def test_definition_lists() -> None:
    html = "<dl><dt>Pod</dt><dd>A group.</dd><dd><p>Again.</p></dd><dt>Node</dt><dd>A machine.</dd></dl>"
    assert _content(html) == "- **Pod**\n\n  A group.\n\n  Again.\n\n- **Node**\n\n  A machine."


def test_tables() -> None:
    html = "<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></table>"
    assert _content(html) == "| A | B |\n| --- | --- |\n| 1\\|2 | x<br>y |"


KATEX = """<span class="katex"><math><annotation encoding="application/x-tex">k</annotation></math>
<span class="katex-html" aria-hidden="true">NOISE</span></span>"""


@pytest.mark.parametrize(
    ("html", "tex"),
    [
        ('<math><mi>x</mi><annotation encoding="application/x-tex">x_1*y</annotation></math>', "$x_1*y$"),
        ('<math display="block" alttext="a\\{b\\}"><mi>a</mi></math>', "$$a\\{b\\}$$"),
        ('<span class="math">\\(a_b\\)</span>', "$a_b$"),
        ('<script type="math/tex; mode=display">\\frac{a}{b}</script>', "$$\\frac{a}{b}$$"),
        (KATEX, "$k$"),
    ],
)
def test_formulas(html: str, tex: str) -> None:
    assert _content(f"<p>so {html} is</p>") == f"so {tex} is"


def test_footnotes() -> None:
    html = (
        '<p>Said.<sup id="fnref:1"><a href="#fn:1" class="footnote-ref">1</a></sup></p>'
        '<section class="footnotes"><ol><li id="fn:1"><p>By <em>whom</em>. '
        '<a href="#fnref:1" class="footnote-backref">↩</a></p></li></ol></section>'
    )
    assert _content(html) == "Said.[^1]\n\n[^1]: By *whom*."


def test_addresses_are_absolute() -> None:
    html = '<p><a href="../nodes/">n</a> <a href="#here">h</a> <a href="javascript:x()">j</a></p>'
    html += '<img src="/i/a.png" alt="图">'
    assert _content(html) == (
        "[n](https://example.org/docs/nodes/) [h](#here) j\n\n![图](https://example.org/i/a.png)"
    )
    assert "(https://other.example/x/nodes/)" in _content(html, url="https://other.example/x/y/")


def test_a_base_is_honoured() -> None:
    page = (
        b'<html><head><base href="https://b.example/x/"></head><body><p><a href="y">l</a></p></body></html>'
    )
    assert extract(page, "a.html").markdown == "[l](https://b.example/x/y)"


def test_lazy_and_tiny_images() -> None:
    html = '<p>a</p><img src="data:image/gif;base64,R0" data-src="big.png" alt="b">'
    html += '<img src="t.gif" width="1" height="1">'
    assert _content(html) == "a\n\n![b](https://example.org/docs/pods/big.png)"


def test_images_in_the_page_are_figures() -> None:
    digest = hashlib.sha256(PNG).hexdigest()
    inline = f'<p>one</p><img alt="a chart" src="data:image/png;base64,{base64.b64encode(PNG).decode()}">'
    result = page_extract(f"<body>{inline}</body>", "a.html")
    assert result.markdown == f"one\n\n![a chart](asset:{digest})"
    (figure,) = result.figures
    assert (figure.sha256, figure.data, figure.media_type, figure.line) == (digest, PNG, "image/png", 3)
    assert figure.caption == "a chart"


def test_what_looks_like_a_tag_or_a_comment_is_text() -> None:
    assert (
        _content("<p>use &lt;name&gt; or &lt;!-- this --&gt;, 1 &lt; 2</p>")
        == "use \\<name> or \\<!-- this -->, 1 < 2"
    )


def test_comments_are_left_out() -> None:
    assert _content("<p>a</p><!-- hidden --><p>b</p>") == "a\n\nb"


def test_a_site_says_where_its_content_is() -> None:
    page = (
        b"<body><main><p>"
        + b"main " * 50
        + b"</p><div id=here><p>wanted</p><p class=ad>ad</p></div></main></body>"
    )
    hints = Hints(content=("[bad", "#nowhere", "#here"), noise=(".ad", "[bad"))
    assert extract(page, "a.html", hints=hints).markdown == "wanted"


def test_a_list_of_articles_is_kept_whole() -> None:
    articles = "".join(f"<article><h2>Post {n}</h2><p>{'text ' * 20}</p></article>" for n in range(3))
    markdown = extract(f"<body><nav>N</nav><div>{articles}</div></body>".encode(), "a.html").markdown
    assert [line for line in markdown.split("\n") if line.startswith("#")] == [
        "## Post 0",
        "## Post 1",
        "## Post 2",
    ]


def test_the_charset_of_the_server() -> None:
    assert (
        extract("<p>繁體中文網頁</p>".encode("big5"), "a.html", hints=Hints(charset="big5")).markdown
        == "繁體中文網頁"
    )


@pytest.mark.parametrize("tag", ["div", "b", "blockquote", "ul><li", "table><tr><td", "span"])
def test_depth_is_no_danger(tag: str) -> None:
    names = tag.split("><")
    page = "".join(f"<{name}>" for name in names) * 50_000 + "deep" + "</div>" * 50_000
    result = extract(page.encode(), "deep.html")
    assert "deep" in result.markdown
    assert "nested too deeply" in result.notes[-1]


def test_depth_of_ordinary_pages_is_left_alone() -> None:
    page = "<div>" * 150 + "<p>one<p>two" + "<br>" * 500 + "</div>" * 150
    assert extract(page.encode(), "a.html").notes == ()


def test_a_page_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_BYTES", 10)
    with pytest.raises(TooLarge, match="HTML pages"):
        extract(b"<p>hello hello</p>", "a.html")
