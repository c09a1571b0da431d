"""`make demo`: the main job on the embedded default, with no key and no server.

It exits with 1 if a quote does not stand where it is cited.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
HOME = ROOT / "demo-home"
KOSMOS = Path(sys.executable).parent / "kosmos"
QUESTIONS = (
    "How much longer am I covered if I register my device, and by when must I do it?",
    "屏幕脏了，能拿酒精棉片擦吗？",
    "备份校验命令返回 4，我该怎么办？",
)


def kosmos(*arguments: str) -> str:
    """The output of a command, run as a user would."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
    done = subprocess.run(
        [KOSMOS, *arguments],
        env={**environ, "KOSMOS_HOME": str(HOME)},
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def show(*arguments: str) -> None:
    """Run a command for everybody to see."""
    print(f"\n$ kosmos {' '.join(repr(part) if ' ' in part else part for part in arguments)}", flush=True)
    print(kosmos(*arguments), end="")


def check(answer: dict[str, Any]) -> int:
    """How many quotes stand, to the letter, at the cited lines of the example files themselves."""
    for item in answer["citations"]:
        lines = (ROOT / item["source"]).read_text().split("\n")
        cited = "\n".join(lines[item["start_line"] - 1 : item["end_line"]])
        if item["quote"] not in cited:
            sys.exit(f"the quote [{item['marker']}] is not at {item['source']}:{item['start_line']}")
    return len(answer["citations"])


def main() -> None:
    """Add the examples, search, ask; then check every citation against the files."""
    shutil.rmtree(HOME, ignore_errors=True)
    show("add", "examples")
    show("search", "certificate rotation 证书轮换", "--k", "2")
    checked = 0
    for question in QUESTIONS:
        show("ask", question)
        found = check(json.loads(kosmos("ask", question, "--json")))
        if not found:
            sys.exit(f"no answer to: {question}")
        checked += found
    print(f"\n{len(QUESTIONS)} questions answered; {checked} of {checked} quotes stand at the cited lines.")


if __name__ == "__main__":
    main()
