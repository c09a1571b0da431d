"""The built-in encoder with its real weights."""

import asyncio
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kosmos.encoders import minilm
from kosmos.encoders.bert_graph import bert_model, safe_steps
from kosmos.encoders.bert_numpy import run_numpy
from kosmos.encoders.local import LocalEncoder
from kosmos.encoders.minilm import MAX_WINDOWS, SHAPE, WINDOW, MiniLM, load_minilm
from kosmos.encoders.opening import Quarters, open_builtin
from kosmos.encoders.runtime import run_graph
from kosmos.encoders.safetensors import Weights
from kosmos.encoders.weights import find_weights
from kosmos.encoders.wordpiece import WordPiece, read_vocabulary
from kosmos.errors import DataLost
from kosmos.store.rows import Dense

ENGLISH = (
    "How do pods get an IP address?",
    "A naïve café — résumé, “quotes” & emoji 🙂",
    "",
    "kubectl get pods --all-namespaces -o wide",
    "The quick brown fox jumps over the lazy dog. " * 20,
)
# Written for this test: what to look for, and its translation.
PAIRS = (
    ("How do I reset my password?", "怎么重置我的密码？"),
    ("The train to Shanghai leaves at nine.", "去上海的火车九点出发。"),
    ("Delete all containers that have stopped.", "删除所有已经停止的容器。"),
    ("The server ran out of disk space.", "服务器的磁盘空间用完了。"),
    ("This medicine must be kept in a refrigerator.", "这种药必须放在冰箱里保存。"),
    ("Which certificate has expired?", "哪个证书已经过期了？"),
    ("My daughter is learning to play the piano.", "我女儿在学弹钢琴。"),
    ("Back up the database before the upgrade.", "升级之前先备份数据库。"),
    ("It will rain in the north tomorrow.", "明天北方会下雨。"),
    ("Traffic is routed to healthy replicas only.", "流量只会转发到健康的副本。"),
    ("The contract ends in March next year.", "合同明年三月到期。"),
    ("How much memory does this process use?", "这个进程占用多少内存？"),
)


@cache
def weights_folder() -> Path:
    folder = find_weights()
    assert folder is not None, "the lock file installs the weights"
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[MiniLM, MiniLM]:
    """With the Chinese pack and without it."""
    cache_folder = tmp_path_factory.mktemp("cache")
    with_pack, without = (
        load_minilm(weights_folder(), cache=cache_folder, chinese=chinese) for chinese in (True, False)
    )
    return with_pack, without


@pytest.fixture
async def encoder(tmp_path: Path) -> AsyncIterator[LocalEncoder]:
    made = open_builtin(Quarters(tmp_path / "models", tmp_path / "cache", threads=2))
    yield made
    await made.close()


def stock(text: str) -> Dense:
    """The encoder as its authors describe it, from its parts: pieces, rows, layers, mean."""
    folder = weights_folder()
    weights = Weights(folder / "model.safetensors")
    pieces = WordPiece(read_vocabulary(folder / "vocab.txt"))
    numbers = [pieces.start, *pieces.numbers(text, WINDOW), pieces.end]
    run = run_graph(bert_model(weights, SHAPE, steps=safe_steps()))
    return run(weights["embeddings.word_embeddings.weight"][numbers])


async def test_english_is_read_bit_for_bit_as_without_the_pack(
    models: tuple[MiniLM, MiniLM], encoder: LocalEncoder
) -> None:
    with_pack, without = models
    mixed = await encoder.encode_passages([*ENGLISH, *(chinese for _, chinese in PAIRS)])
    for text, row in zip(ENGLISH, mixed, strict=False):
        assert with_pack.tokens(text) == without.tokens(text)
        assert np.array_equal(with_pack.encode(text), without.encode(text))
        assert np.array_equal(row, without.encode(text))  # whatever else is encoded with it
        assert np.array_equal(row, stock(text))
    assert not np.array_equal(with_pack.encode("容器"), without.encode("容器"))


def test_eight_bits_come_close_to_the_whole(models: tuple[MiniLM, MiniLM]) -> None:
    exact = run_numpy(Weights(weights_folder() / "model.safetensors"), SHAPE)
    whole = MiniLM(models[0]._pieces, models[0]._rows, exact)
    texts = (ENGLISH[0], ENGLISH[3], *PAIRS[0], *PAIRS[1])
    close = [float(models[0].encode(text) @ whole.encode(text)) for text in texts]
    assert np.mean(close) > 0.99
    assert min(close) > 0.98


async def test_translations_find_each_other(encoder: LocalEncoder) -> None:
    english = await encoder.encode_queries([english for english, _ in PAIRS])
    chinese = await encoder.encode_passages([chinese for _, chinese in PAIRS])
    scores = english @ chinese.T
    assert (scores.argmax(axis=1) == np.arange(len(PAIRS))).mean() >= 0.9
    assert (scores.argmax(axis=0) == np.arange(len(PAIRS))).mean() >= 0.9


async def test_traditional_characters_mean_the_same(encoder: LocalEncoder) -> None:
    simple, traditional, other = await encoder.encode_passages(
        ["数据库备份失败了", "數據庫備份失敗了", "我们去公园散步"]
    )
    assert np.array_equal(simple, traditional)
    assert float(simple @ other) < 0.5


async def test_odd_texts_have_vectors_too(encoder: LocalEncoder) -> None:
    odd = [
        "",
        " ",
        "🙂" * 500,
        "\x00\ud800",
        "x" * 1_000_000,
        "字" * 300_000,
        "a[SEP]b",
        "'; DROP TABLE--",
        "(a+)+$",
    ]
    found = await encoder.encode_passages(odd)
    assert found.shape == (len(odd), 384)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_long_texts_are_read_to_their_end(models: tuple[MiniLM, MiniLM]) -> None:
    filler = "The weather was mild and nothing of note happened that day. " * 60
    question = models[0].encode("How often must the blue pump be oiled?")
    plain, with_end = models[0].encode(filler), models[0].encode(filler + "The blue pump is oiled weekly.")
    assert float(question @ with_end) > float(question @ plain) + 0.05
    assert len(models[0].tokens(filler * 50)) == WINDOW * MAX_WINDOWS
    np.testing.assert_allclose(np.linalg.norm(with_end), 1, atol=1e-5)


async def test_the_same_text_in_any_company(encoder: LocalEncoder) -> None:
    alone = await encoder.encode_passages([PAIRS[0][1]])
    crowd = await encoder.encode_passages([*(text for pair in PAIRS for text in pair), *ENGLISH])
    assert np.array_equal(alone[0], crowd[1])


async def test_an_empty_cache_is_filled_and_a_damaged_one_mended(tmp_path: Path) -> None:
    cache_folder = tmp_path / "cache"
    first = load_minilm(weights_folder(), cache=cache_folder).encode(ENGLISH[0])
    (file,) = cache_folder.iterdir()
    file.write_bytes(file.read_bytes()[:1000])
    assert np.array_equal(load_minilm(weights_folder(), cache=cache_folder).encode(ENGLISH[0]), first)
    assert file.stat().st_size > 10_000_000
    assert np.array_equal(load_minilm(weights_folder()).encode(ENGLISH[0]), first)


def test_other_weights_are_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "vocab.txt").write_bytes((weights_folder() / "vocab.txt").read_bytes())
    data = bytearray((weights_folder() / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(DataLost, match="sha256"):
        load_minilm(folder, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_without_onnxruntime_it_is_slower_and_just_as_good(
    models: tuple[MiniLM, MiniLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "has_onnxruntime", lambda: False)
    slow = load_minilm(weights_folder())
    for english, chinese in PAIRS[:1]:
        assert float(slow.encode(english) @ models[0].encode(english)) > 0.98
        assert float(slow.encode(chinese) @ models[0].encode(chinese)) > 0.98


async def test_the_event_loop_goes_on_meanwhile(encoder: LocalEncoder) -> None:
    await encoder.encode_queries(["open the model"])
    work = asyncio.create_task(encoder.encode_passages([f"{number} " + ENGLISH[4] for number in range(30)]))
    turns = 0
    while not work.done():
        turns += 1
        await asyncio.sleep(0.001)
    assert turns > 5
    work = asyncio.create_task(encoder.encode_passages([f"{number} " + ENGLISH[4] for number in range(5000)]))
    await asyncio.sleep(0.05)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await encoder.encode_queries(["still there?"])).shape == (1, 384)
