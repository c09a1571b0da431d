"""Encoders from model folders."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from kosmos.encoders.folder_card import FolderCard
from kosmos.encoders.folder_models import BertModel, OnnxModel, TorchModel, is_plain_bert
from kosmos.encoders.folder_sparse import read_head
from kosmos.encoders.local import Card, LocalEncoder, Model
from kosmos.errors import ConfigError
from kosmos.store.rows import Sparse


class FolderEncoder(LocalEncoder):
    """A model of a folder that gives dense vectors and weights of terms (BGE-M3)."""

    async def encode_sparse(self, texts: Sequence[str]) -> list[Sparse]:
        """The weights of each text's terms."""
        model: Any = await self._open()
        return await self._lanes.each([partial(model.weigh, text) for text in texts])


def open_folder(card: FolderCard, *, threads: int) -> LocalEncoder:
    """The encoder of a folder; its model is opened when it is first needed."""
    told = Card(card.name, card.dimension, card.query_prompt, card.passage_prompt)
    load = partial(load_folder, card)
    sparse = card.onnx_file is not None and read_head(card.folder, card.dimension) is not None
    return (FolderEncoder if sparse else LocalEncoder)(told, load, threads=threads)


def load_folder(card: FolderCard) -> Model:
    """Open the model by the lightest way there is."""
    if card.onnx_file is not None:
        return OnnxModel(card)
    if card.pooled_inside:
        raise ConfigError(
            f"{card.folder} has layers behind its pooling.",
            remedy="Export it to ONNX with its whole pipeline.",
        )
    return BertModel(card) if is_plain_bert(card) else TorchModel(card)
