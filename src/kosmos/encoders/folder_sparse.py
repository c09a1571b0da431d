"""The sparse head of BGE-M3: one number for each token, from a linear layer beside the model."""

import pickletools
import zipfile
from pathlib import Path

import numpy as np

from kosmos.encoders.safetensors import Weights
from kosmos.errors import ConfigError
from kosmos.store.rows import Dense, Sparse

MAX_BYTES = 2**20
_KINDS = {"FloatStorage": "<f4", "HalfStorage": "<f2"}


def read_head(folder: Path, width: int) -> Dense | None:
    """The weights of the head with its bias behind them; None when the folder has none."""
    if (folder / "sparse_linear.safetensors").is_file():
        weights = Weights(folder / "sparse_linear.safetensors")
        return np.concatenate([weights["weight"].ravel(), weights["bias"].ravel()])
    path = folder / "sparse_linear.pt"
    if not path.is_file():
        return None
    try:
        head = _read_torch(path)
        if len(head) != width + 1:
            raise ValueError(f"{len(head) - 1} weights for vectors of {width}")
    except (OSError, ValueError, KeyError, IndexError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", remedy="Get the file again.") from None
    return head


def _read_torch(path: Path) -> Dense:
    """What torch saved: an archive with numbers in files of their own. Its pickle is read over, never run."""
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: info for info in archive.infolist() if info.file_size <= MAX_BYTES}
        pickle = archive.read(next(name for name in files if name.endswith("/data.pkl")))
        named = {str(told) for _, told, _ in pickletools.genops(pickle) if told is not None}
        kinds = [kind for name, kind in _KINDS.items() if any(name in told for told in named)]
        parts = [archive.read(name) for name in files if name.rpartition("/")[0].endswith("/data")]
    if len(kinds) != 1 or len(parts) != 2:
        raise ValueError("it is not one layer of one kind of number")
    weight, bias = sorted(parts, key=len, reverse=True)
    found: Dense = np.frombuffer(weight + bias, kinds[0]).astype(np.float32)
    return found


def weigh_tokens(hidden: Dense, head: Dense) -> Dense:
    """The weight of each token, never below zero."""
    made: Dense = np.maximum(hidden @ head[:-1] + head[-1], 0)
    return made


def collect_weights(tokens: list[int], weights: Dense, special: frozenset[int]) -> Sparse:
    """The largest weight that each token has; marks of the model itself count for nothing."""
    found: dict[int, float] = {}
    for token, weight in zip(tokens, weights.ravel().tolist(), strict=True):
        if weight > 0 and token not in special:
            found[token] = max(weight, found.get(token, 0.0))
    return found
