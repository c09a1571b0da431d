"""Memory of a process that runs for long."""

import gc


def settle_memory() -> None:
    """Let the collector pass over what was loaded at the start, which stays: walking through all of it would
    hold up everybody for a tenth of a second now and then."""
    gc.collect()
    gc.freeze()
