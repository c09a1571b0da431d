"""Named model folders."""

from pathlib import Path

import pytest

from kosmos.encoders.bert_graph import Pooling
from kosmos.encoders.catalog import Entry, add_model, find_model, list_models, remove_model
from kosmos.encoders.folder_card import Choices
from kosmos.errors import ConfigError, InvalidInput, NotFound

from .tiny_models import make_folder


def test_a_name_is_given_and_taken_away(tmp_path: Path) -> None:
    models, folder = tmp_path / "models", make_folder(tmp_path / "模型 a")
    assert list_models(models) == []
    entry = Entry("bge-m3", folder, Choices(Pooling.FIRST, "问：", ""))
    assert add_model(models, entry) == entry
    plain = add_model(models, Entry("other", folder))
    assert list_models(models) == [entry, plain]
    assert find_model(models, "bge-m3") == entry
    remove_model(models, "bge-m3")
    assert list_models(models) == [plain]
    assert folder.is_dir()
    for missing in (find_model, remove_model):
        with pytest.raises(NotFound):
            missing(models, "bge-m3")


@pytest.mark.parametrize("name", ["", "builtin", "None", "../x", "a/b", ".hidden", "a" * 65])
def test_names_that_cannot_be_given(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        add_model(tmp_path / "models", Entry(name, make_folder(tmp_path / "m")))
    with pytest.raises(NotFound):
        find_model(tmp_path / "models", name)


def test_only_folders_with_a_model_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        add_model(tmp_path / "models", Entry("a", tmp_path))
    assert not (tmp_path / "models").exists()


def test_a_damaged_entry_is_left_out_of_the_list(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text('{"folder": 3}')
    (tmp_path / "c.json").write_text('{"folder": "/x", "pooling": "max"}')
    (tmp_path / "d.json").write_text('{"folder": "/x", "colour": "red"}')
    assert list_models(tmp_path) == []
    with pytest.raises(ConfigError, match="cannot be read"):
        find_model(tmp_path, "a")
