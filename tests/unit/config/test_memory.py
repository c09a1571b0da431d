"""What was loaded at the start is left alone by the collector."""

import subprocess
import sys

SCRIPT = """
import gc
from kosmos.config.memory import settle_memory
settle_memory()
print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000)
"""


def test_what_is_there_is_passed_over() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
