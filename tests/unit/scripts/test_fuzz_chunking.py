"""The fuzz run holds for some texts of every kind, and fails where a rule is broken."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
BREAK = """
import sys
sys.path.insert(0, {scripts!r})
sys.argv = ["fuzz_chunking.py", "--texts", "12"]
import fuzz_chunking
inner = fuzz_chunking.chunk_by_structure
fuzz_chunking.chunk_by_structure = lambda *given, **more: inner(*given, **more)[1:]
fuzz_chunking.main()
"""


def run(*command: str | Path) -> tuple[int, str]:
    """Exit code and what was printed."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_both_producers_hold() -> None:
    code, said = run(SCRIPTS / "fuzz_chunking.py", "--texts", "120", "--first", "70000")
    assert code == 0, said
    assert "texts=120 broken=0" in said
    for manner in ("well", "nothing", "empty", "babble", "partly", "disorder", "overlap", "lies", "wildly"):
        assert f"model_{manner}=" in said


def test_a_lost_chunk_is_found() -> None:
    code, said = run("-c", BREAK.format(scripts=str(SCRIPTS)))
    assert code == 1
    assert "BROKEN structure seed=" in said


@pytest.mark.parametrize("sign", ["\u2028", "\x0c", "\x85", "\u3000", "שלום", "👩\u200d👧", "ad@example.com"])
def test_texts_have_what_splitters_stumble_over(sign: str) -> None:
    wanted = f"import fuzz_texts; print(any({sign!r} in fuzz_texts.make_text(n) for n in range(60)))"
    assert run("-c", f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); {wanted}") == (0, "True\n")
