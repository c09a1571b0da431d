"""What the files of a model folder say, and what they must not."""

from pathlib import Path
from typing import Any

import pytest

from kosmos.encoders.bert_graph import Pooling
from kosmos.encoders.folder_card import MAX_TOKENS, QWEN_QUERY, Choices, read_folder
from kosmos.errors import ConfigError

from .tiny_models import WIDTH, make_folder, write_json


def test_everything_that_is_told(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", pooling="cls_token")
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 17})
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    write_json(folder / "config_sentence_transformers.json", prompts)
    card = read_folder(folder)
    assert (card.dimension, card.max_tokens, card.pooling) == (WIDTH, 17, Pooling.FIRST)
    assert (card.query_prompt, card.passage_prompt) == ("query: ", "passage: ")
    assert card.name.startswith("model@")
    assert card.onnx_file is None
    assert not card.pooled_inside


def test_choices_of_the_user_win(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    given = Choices(Pooling.LAST, query_prompt="ask: ", passage_prompt="")
    card = read_folder(folder, given)
    assert (card.pooling, card.query_prompt, card.passage_prompt) == (Pooling.LAST, "ask: ", "")
    assert card.name != read_folder(folder).name  # these are other vectors


def test_qwen_is_known_without_being_told(tmp_path: Path) -> None:
    positions = {"max_position_embeddings": 40_960}
    folder = make_folder(tmp_path / "qwen", pooling=None, model_type="qwen3", **positions)
    card = read_folder(folder)
    assert (card.pooling, card.query_prompt, card.passage_prompt) == (Pooling.LAST, QWEN_QUERY, "")
    assert card.max_tokens == MAX_TOKENS


def test_a_name_follows_the_files_and_not_the_place(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(bytes(200_000))
    before = read_folder(folder).name
    moved = tmp_path / "elsewhere" / "model"
    moved.parent.mkdir()
    folder.rename(moved)
    assert read_folder(moved).name == before
    (moved / "model.safetensors").write_bytes(bytes(199_999) + b"x")
    assert read_folder(moved).name != before


def test_layers_behind_the_pooling(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"}
    write_json(folder / "modules.json", [{"path": at, "type": f"a.b.{kind}"} for at, kind in kinds.items()])
    write_json(folder / "2_Dense" / "config.json", {"out_features": 5})
    card = read_folder(folder)
    assert (card.dimension, card.pooled_inside) == (5, True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("config.json", None, "has no config.json"),
        ("config.json", [], "no object"),
        ("config.json", {"hidden_size": "wide"}, "how long"),
        ("modules.json", [{"type": "x.CLIPModel", "path": ""}], "CLIPModel"),
        ("modules.json", {"a": 1}, "modules.json"),
        ("modules.json", [], "--pooling"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ("1_Pooling/config.json", {}, "nothing"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, name: str, value: Any, message: str) -> None:
    folder = make_folder(tmp_path / "model")
    (folder / name).unlink()
    if value is not None:
        write_json(folder / name, value)
    with pytest.raises(ConfigError) as caught:
        read_folder(folder)
    assert message in f"{caught.value.message} {caught.value.remedy}"


def test_broken_files_and_missing_folders(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    (folder / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_folder(folder)
    with pytest.raises(ConfigError, match="no model folder"):
        read_folder(tmp_path / "nowhere")
