from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_hush.embed import cached_embedder
from pytest_hush.embed.disk import CachedEmbedder


class Hashed:
    """Four unit numbers from a text's SHA-256: an embedder that costs nothing and counts its work."""

    def __init__(self, name: str = "hashed", version: str = "1") -> None:
        self.name = name
        self.version = version
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:  # an array is no typing.Sequence
        self.texts += texts
        rows = [np.frombuffer(hashlib.sha256(t.encode("utf-8", "replace")).digest()[:4], np.uint8) for t in texts]
        matrix = np.asarray(rows, dtype=np.float32).reshape(len(texts), 4) + 1
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), dtype=np.float32)


TEXTS = [f"text {i}" for i in range(150)]


def test_a_second_object_computes_nothing_and_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = Hashed(), Hashed()
    made = cached_embedder(first, tmp_path / "deep" / "vectors.sqlite").embed(TEXTS)
    read = cached_embedder(second, tmp_path / "deep" / "vectors.sqlite").embed(TEXTS[::-1])
    assert len(first.texts) == len(TEXTS)
    assert second.texts == []
    assert made.tobytes() == np.ascontiguousarray(read[::-1]).tobytes() == Hashed().embed(TEXTS).tobytes()


def test_doubles_are_computed_once_and_an_empty_list_keeps_its_shape(tmp_path: Path) -> None:
    inner = Hashed()
    cached = CachedEmbedder(inner, tmp_path / "v.sqlite")
    rows = cached.embed(["a", "b", "a"])
    assert inner.texts == ["a", "b"]
    assert np.array_equal(rows[0], rows[2])
    assert cached.embed([]).shape == (0, 4)


@pytest.mark.parametrize("other", [Hashed(name="other"), Hashed(version="2")])
def test_another_model_or_version_reads_nothing_of_the_first(tmp_path: Path, other: Hashed) -> None:
    CachedEmbedder(Hashed(), tmp_path / "v.sqlite").embed(["a"])
    CachedEmbedder(other, tmp_path / "v.sqlite").embed(["a"])
    assert other.texts == ["a"]


def test_name_and_version_are_those_of_the_model(tmp_path: Path) -> None:
    cached = CachedEmbedder(Hashed("m", "9"), tmp_path / "v.sqlite")
    assert (cached.name, cached.version) == ("m", "9")
    assert not (tmp_path / "v.sqlite").exists()


def test_a_garbled_file_is_set_aside_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(b"this is no database, whatever its name says" * 40)
    cached = CachedEmbedder(Hashed(), path)
    with pytest.warns(UserWarning, match="set aside as v.sqlite.garbled"):
        rows = cached.embed(["a"])
    assert np.array_equal(rows, Hashed().embed(["a"]))
    assert (tmp_path / "v.sqlite.garbled").exists()
    again = Hashed()
    CachedEmbedder(again, path).embed(["a"])
    assert again.texts == []


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_file_and_the_folders_made_for_it_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / ".hush" / "deeper" / "v.sqlite"
    CachedEmbedder(Hashed(), path).embed(TEXTS)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_a_cache_that_cannot_be_written_warns_once_and_embedding_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    cached = CachedEmbedder(Hashed(), tmp_path / "file" / "v.sqlite")
    with pytest.warns(UserWarning, match="cannot be used") as caught:
        rows = cached.embed(TEXTS)
    assert len(caught) == 1
    assert np.array_equal(rows, Hashed().embed(TEXTS))
    assert np.array_equal(cached.embed(["more"]), Hashed().embed(["more"]))  # a second warning would be an error


def test_threads_share_one_file(tmp_path: Path) -> None:
    cached = CachedEmbedder(Hashed(), tmp_path / "v.sqlite")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: cached.embed(TEXTS[i : i + 40]), range(40)))
    assert all(np.array_equal(rows, Hashed().embed(TEXTS[i : i + 40])) for i, rows in enumerate(results))


def test_processes_share_one_file(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import sys
        from pytest_hush.embed.disk import CachedEmbedder
        from tests.unit.embed.test_disk import TEXTS, Hashed
        inner = Hashed()
        for text in TEXTS[:60]:
            CachedEmbedder(inner, sys.argv[1]).embed([text])
        """
    )
    root = Path(__file__).parents[3]
    command = [sys.executable, "-W", "error::UserWarning", "-c", code, str(tmp_path / "v.sqlite")]
    workers = [subprocess.Popen(command, cwd=root) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    inner = Hashed()
    CachedEmbedder(inner, tmp_path / "v.sqlite").embed(TEXTS[:60])
    assert inner.texts == []
