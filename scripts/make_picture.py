"""Makes docs/pictures/demo.svg out of what the commands of `make demo` really print."""

import html
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import demo
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "demo.svg"
WIDTH = 96
CHAR_WIDTH = 20 * 0.61  # what Rich computes with: the height of a character and the font's aspect ratio
# Rich's own format without its web fonts: a picture in a README must not load anything.
FORMAT = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The output of make demo</title>
<style>
.{unique_id}-matrix, .{unique_id}-title {{
  font-family: ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",
    "Noto Sans Mono CJK SC", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
PIECE = re.compile(r" +|[\u2e80-\u9fff\uff00-\uffef]|[^ \u2e80-\u9fff\uff00-\uffef]+")
TEXT = re.compile(r'textLength="[^"]*"([^>]*)>([^<]*)</text>')


def commands() -> list[tuple[str, ...]]:
    """Some of what the demo runs: the adding, a question in English and one in Chinese."""
    english = next(question for question in demo.QUESTIONS if question.isascii())
    chinese = next(question for question in demo.QUESTIONS if not question.isascii())
    return [("add", "examples"), ("ask", english), ("ask", chinese)]


def session() -> Iterator[Text]:
    """The lines of a terminal in which the commands were typed."""
    for number, command in enumerate(commands()):
        if number:
            yield Text()
        yield Text(f"$ kosmos {shlex.join(command)}", style="bold green")
        # The picture shows no folder of the machine it was made on.
        printed = demo.kosmos(*command)
        yield from Text.from_ansi(printed.rstrip("\n")).split("\n", allow_blank=True)


def runs(line: Text) -> Iterator[Text]:
    """The line in words and single wide characters, so that each is placed where it belongs."""
    for match in PIECE.finditer(line.plain):
        yield line[match.start() : match.end()]


def draw() -> str:
    """The terminal as SVG."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, highlight=False)
        for line in session():
            for part in line.wrap(console, WIDTH):
                for run in runs(part):
                    console.print(run, end="", soft_wrap=True)
                console.print()
        svg = console.export_svg(title="kosmos", code_format=FORMAT, unique_id="kosmos")
    svg = TEXT.sub(_with_true_length, svg)
    return "".join(f"{line.rstrip()}\n" for line in svg.rstrip("\n").split("\n"))


def _with_true_length(match: re.Match[str]) -> str:
    """Rich counts characters, where a Chinese one is as wide as two: they would lie over each other."""
    rest, text = match.groups()
    length = CHAR_WIDTH * cell_len(html.unescape(text))
    return f'textLength="{length:g}"{rest}>{text}</text>\n'


def main() -> None:
    """Run the commands in a new home and write the picture."""
    os.environ |= {"FORCE_COLOR": "1", "TERM": "xterm-256color"}  # bold text stays bold in a pipe
    with tempfile.TemporaryDirectory() as folder:
        demo.HOME = Path(folder) / "home"
        svg = draw()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(svg, encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(demo.ROOT.resolve())}")


if __name__ == "__main__":
    main()
