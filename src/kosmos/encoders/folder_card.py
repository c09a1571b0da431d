"""What the files of a model folder say about the model, as sentence-transformers writes them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kosmos.encoders.bert_graph import Pooling
from kosmos.errors import ConfigError

MAX_TOKENS = 2_048  # as long as the longest chunk
QWEN_QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
ONNX_FILES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
_SAMPLE = 2**16
_POOLINGS = {
    "pooling_mode_mean_tokens": Pooling.MEAN,
    "pooling_mode_cls_token": Pooling.FIRST,
    "pooling_mode_lasttoken": Pooling.LAST,
}
_MODULES = frozenset({"Transformer", "Pooling", "Normalize", "Dense"})
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user may say about a folder where its files say nothing, or something else."""

    pooling: Pooling | None = None
    query_prompt: str | None = None
    passage_prompt: str | None = None


NO_CHOICES = Choices()


@dataclass(frozen=True, slots=True)
class FolderCard:
    """A model in a folder, not opened yet."""

    folder: Path
    name: str
    config: Config
    dimension: int
    max_tokens: int
    pooling: Pooling
    query_prompt: str
    passage_prompt: str
    pooled_inside: bool  # it has layers behind the pooling, which only its own graph can run

    @property
    def onnx_file(self) -> Path | None:
        """The graph, where there is one."""
        files = (self.folder / name for name in ONNX_FILES)
        return next((file for file in files if file.is_file()), None)


def read_folder(folder: Path, given: Choices = NO_CHOICES) -> FolderCard:
    """Everything that is known of a model without opening it, or ConfigError."""
    if not folder.is_dir():
        raise ConfigError(f"There is no model folder {folder}.", remedy="Give the path of a folder.")
    config = read_json(folder, "config.json", needed=True)
    modules = _modules(folder)
    prompts = read_json(folder, "config_sentence_transformers.json").get("prompts") or {}
    qwen = config.get("model_type") == "qwen3"
    query = prompts.get("query", QWEN_QUERY if qwen else "")
    passage = prompts.get("document", prompts.get("passage", ""))
    try:
        dimension, longest = int(config["hidden_size"]), _longest(folder, config)
        dimension = next(
            (int(read_json(folder, f"{at}/config.json")["out_features"]) for at in modules.get("Dense", [])),
            dimension,
        )
    except (KeyError, TypeError, ValueError):
        raise _refuse(folder, "does not say how long its vectors are") from None
    return FolderCard(
        folder=folder,
        name=_name(folder, given),
        config=config,
        dimension=dimension,
        max_tokens=longest,
        pooling=given.pooling or _pooling(folder, modules, qwen=qwen),
        query_prompt=str(query) if given.query_prompt is None else given.query_prompt,
        passage_prompt=str(passage) if given.passage_prompt is None else given.passage_prompt,
        pooled_inside="Dense" in modules,
    )


def read_json(folder: Path, name: str, *, needed: bool = False) -> dict[str, Any]:
    """What a file of the folder says; nothing where it is missing and may be."""
    try:
        value = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if needed:
            raise _refuse(folder, f"has no {name}") from None
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _refuse(folder, f"has a {name} that cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise _refuse(folder, f"has a {name} that is no object")
    return value


def _modules(folder: Path) -> dict[str, list[str]]:
    """The places of the parts that sentence-transformers names, by their kinds."""
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        found: dict[str, list[str]] = {}
        for item in listed:
            found.setdefault(str(item["type"]).rpartition(".")[2], []).append(str(item["path"]))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _refuse(folder, f"has a modules.json that cannot be read ({error})") from None
    strange = set(found) - _MODULES
    if strange:
        raise _refuse(folder, f"needs {', '.join(sorted(strange))}, which cannot be run")
    return found


def _pooling(folder: Path, modules: Mapping[str, list[str]], *, qwen: bool) -> Pooling:
    for place in modules.get("Pooling", []):
        config = read_json(folder, f"{place}/config.json", needed=True)
        told = [kind for key, kind in _POOLINGS.items() if config.get(key) is True]
        others = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
        if len(told) == len(others) == 1:
            return told[0]
        raise _refuse(folder, f"pools by {', '.join(others) or 'nothing'}, which cannot be done")
    if qwen:
        return Pooling.LAST
    raise ConfigError(
        f"{folder} does not say which tokens make up its vectors.",
        remedy=f"Say so: kosmos models add NAME FOLDER --pooling {'|'.join(Pooling)}",
    )


def _longest(folder: Path, config: Config) -> int:
    told = read_json(folder, "sentence_bert_config.json").get("max_seq_length")
    most = int(told or config.get("max_position_embeddings") or MAX_TOKENS)
    return max(8, min(most, MAX_TOKENS))


def _name(folder: Path, given: Choices) -> str:
    """The folder's name and a hash that changes with the model: of small files and samples of large ones."""
    digest = hashlib.sha256(repr(given).encode())
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in {".json", ".onnx", ".onnx_data", ".safetensors", ".txt", ".pt"}:
            size = path.stat().st_size
            digest.update(f"\n{path.relative_to(folder)} {size}\n".encode())
            with path.open("rb") as file:
                digest.update(file.read(_SAMPLE))
                file.seek(max(0, size - _SAMPLE))
                digest.update(file.read(_SAMPLE))
    return f"{folder.resolve().name[:60]}@{digest.hexdigest()[:12]}"


def _refuse(folder: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{folder} {what}.", remedy="Use the folder of a sentence encoder, with all its files."
    )
