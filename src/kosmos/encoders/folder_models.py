"""Models of folders: an ONNX graph, a BERT of safetensors by our own graph, anything else by transformers."""

from typing import Any

import numpy as np

from kosmos.encoders.bert_graph import Pooling, Shape, bert_model
from kosmos.encoders.bert_numpy import run_numpy
from kosmos.encoders.folder_card import FolderCard, read_json
from kosmos.encoders.folder_sparse import collect_weights, read_head, weigh_tokens
from kosmos.encoders.folder_tokens import open_tokenizer
from kosmos.encoders.runtime import Port, Session, has_onnxruntime, run_graph
from kosmos.encoders.safetensors import Weights
from kosmos.encoders.vectors import unit
from kosmos.encoders.wordpiece import WordPiece, read_vocabulary
from kosmos.errors import ConfigError
from kosmos.store.rows import Dense, Sparse

_POOLED = ("sentence_embedding", "dense_vecs", "dense_embeddings")
_HIDDEN = ("last_hidden_state", "token_embeddings", "hidden_states")
_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16}


class OnnxModel:
    """A graph in onnxruntime with its own tokenizer."""

    def __init__(self, card: FolderCard) -> None:
        if card.onnx_file is None or not has_onnxruntime():
            raise ConfigError(f"{card.folder} needs onnxruntime.", remedy="Run: pip install onnxruntime")
        self._card = card
        self._tokens = open_tokenizer(card)
        self._session = Session(card.onnx_file)
        self._head = read_head(card.folder, card.dimension)
        outputs = self._session.outputs
        self._pooled = next((name for name in _POOLED if name in outputs), None)
        self._hidden = next((name for name in _HIDDEN if name in outputs), None)
        if self._pooled is None and (self._hidden is None or card.pooled_inside):
            raise ConfigError(
                f"The model {card.onnx_file} gives {', '.join(outputs)}, none of which is known.",
                remedy=f"Export it with an output called {_HIDDEN[0]} or {_POOLED[0]}.",
            )

    def encode(self, text: str) -> Dense:
        """The vector of a text."""
        found = self._run(self._tokens(text), self._pooled or self._hidden or "")
        return _checked(self._card, found[0] if self._pooled else _pool(found[0], self._card.pooling))

    def weigh(self, text: str) -> Sparse:
        """The weights of a text's tokens."""
        if self._head is None or self._hidden is None:
            raise ConfigError(f"{self._card.folder} gives no weights of terms.", remedy="Use another model.")
        tokens = self._tokens(text)
        weights = weigh_tokens(self._run(tokens, self._hidden)[0], self._head)
        return collect_weights(tokens, weights, self._tokens.special)

    def _run(self, tokens: list[int], wanted: str) -> Any:
        given = {name: _fill(name, port, tokens) for name, port in self._session.inputs.items()}
        return self._session.run(given, [wanted])[0]


def _fill(name: str, port: Port, tokens: list[int]) -> Any:
    """What an input gets: the tokens, what goes with them, or a memory that is still empty."""
    kind = _NUMBERS.get(port.kind, np.float32)
    if name.startswith("past_key_values"):
        sizes = [1, *port.shape[1:]]
        return np.zeros([size if isinstance(size, int) else 0 for size in sizes], kind)
    rows = {
        "input_ids": tokens,
        "attention_mask": [1] * len(tokens),
        "token_type_ids": [0] * len(tokens),
        "position_ids": list(range(len(tokens))),
    }
    if name not in rows:
        raise ConfigError(f"The model wants an input {name!r}, which is not known.", remedy="Export it anew.")
    return np.array([rows[name]], kind)


class BertModel:
    """A BERT of safetensors: our own tokenizer, our own graph, nothing else to install."""

    def __init__(self, card: FolderCard) -> None:
        weights = _bert_weights(card)
        shape = Shape.of(card.config)
        self._card = card
        self._pieces = WordPiece(read_vocabulary(card.folder / "vocab.txt"), lower=_is_lower(card))
        self._rows = weights["embeddings.word_embeddings.weight"]
        if has_onnxruntime():
            self._run = run_graph(bert_model(weights, shape, pooling=card.pooling))
        else:
            self._run = run_numpy(weights, shape, pooling=card.pooling)

    def encode(self, text: str) -> Dense:
        """The vector of a text."""
        found = self._pieces.numbers(text, self._card.max_tokens - 2)
        return _checked(self._card, self._run(self._rows[[self._pieces.start, *found, self._pieces.end]]))


class TorchModel:
    """Any other model, by transformers and torch."""

    def __init__(self, card: FolderCard) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise ConfigError(
                f"{card.folder} has no ONNX graph, so it needs transformers and torch.",
                remedy="Run: pip install 'kosmos[torch]' — or put its ONNX export beside it as model.onnx.",
            ) from None
        self._torch = torch
        self._card = card
        torch.set_num_threads(1)  # texts run side by side, each in one thread
        folder = str(card.folder)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).float().eval()

    def encode(self, text: str) -> Dense:
        """The vector of a text."""
        limit = self._card.max_tokens
        given = self._tokenizer(text, truncation=True, max_length=limit, return_tensors="pt")
        with self._torch.inference_mode():
            hidden = self._model(**given).last_hidden_state[0].numpy()
        return _checked(self._card, _pool(hidden, self._card.pooling))


def _pool(hidden: Dense, pooling: Pooling) -> Dense:
    places = {Pooling.FIRST: 0, Pooling.LAST: -1}
    pooled: Dense = hidden.mean(axis=0) if pooling is Pooling.MEAN else hidden[places[pooling]]
    return pooled


def _checked(card: FolderCard, vector: Dense) -> Dense:
    if vector.shape != (card.dimension,) or not np.isfinite(vector).all():
        raise ConfigError(
            f"{card.folder} gave a vector of shape {vector.shape}; {card.dimension} numbers were expected.",
            remedy="Its configuration and its model do not belong together.",
        )
    return unit(vector.astype(np.float32, copy=False))


def is_plain_bert(card: FolderCard) -> bool:
    """Whether our own graph can run it."""
    config = card.config
    plain = config.get("position_embedding_type", "absolute") == "absolute"
    files = all((card.folder / name).is_file() for name in ("model.safetensors", "vocab.txt"))
    return config.get("model_type") == "bert" and config.get("hidden_act") == "gelu" and plain and files


def _bert_weights(card: FolderCard) -> Weights:
    path = card.folder / "model.safetensors"
    bare = Weights(path)
    return bare if "embeddings.word_embeddings.weight" in bare else Weights(path, prefix="bert.")


def _is_lower(card: FolderCard) -> bool:
    return bool(read_json(card.folder, "tokenizer_config.json").get("do_lower_case", True))
