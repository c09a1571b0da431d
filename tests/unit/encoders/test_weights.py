"""Where the weights are found, and that only the right ones are used."""

from pathlib import Path

import pytest

from kosmos.encoders import weights
from kosmos.encoders.weights import FILES, MODEL, check_weights, find_weights, stamp_weights
from kosmos.errors import DataLost


def _folder(parent: Path, content: str = "x") -> Path:
    folder = parent / MODEL
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text(content)
    return folder


def test_a_folder_among_the_models_comes_first(tmp_path: Path) -> None:
    installed = find_weights()
    assert installed is not None, "the lock file installs them"
    check_weights(installed)
    assert find_weights(tmp_path) == installed
    mine = _folder(tmp_path)
    assert find_weights(tmp_path) == mine
    (mine / "vocab.txt").unlink()
    assert find_weights(tmp_path) == installed  # half a model is none


def test_without_any_package_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_HOLDERS", {"no_such_package_at_all": "model"})
    assert find_weights(tmp_path) is None


def test_other_weights_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataLost, match=r"model\.safetensors is not the file") as caught:
        check_weights(_folder(tmp_path))
    assert "--no-deps" in (caught.value.remedy or "")


def test_a_stamp_changes_with_the_files(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    before = stamp_weights(folder)
    assert stamp_weights(folder) == before
    (folder / "vocab.txt").write_text("xy")
    assert stamp_weights(folder) != before
