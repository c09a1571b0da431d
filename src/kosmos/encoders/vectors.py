"""What every encoder does with vectors, whoever made them."""

import numpy as np

from kosmos.store.rows import Dense


def unit(vectors: Dense) -> Dense:
    """The vectors with a length of one; one without any length stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    made: Dense = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
    return made
