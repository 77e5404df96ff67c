from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.store import Cache, StoreWarning

FIELDS = {"model": "openai/x", "settings": {"temperature": 0, "top": {"p": 1}}, "messages": [["user", "hello"]]}


def test_a_hit_gives_the_whole_value_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "deep" / "cache.sqlite")
    value = {"text": "Grüße 😀", "usage": {"cost_usd": 0.1 + 0.2, "n": None}, "notes": ["a"]}
    assert cache.get("reply", FIELDS) is None
    assert cache.put("reply", "slot", FIELDS, value) == value
    assert cache.get("reply", dict(reversed(FIELDS.items()))) == value
    assert cache.get("judgement", FIELDS) is None
    cache.close()
    again = Cache(tmp_path / "deep" / "cache.sqlite")
    assert again.get("reply", FIELDS) == value
    again.close()
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "deep" / "cache.sqlite").stat().st_mode) == 0o600


def test_the_first_value_put_wins(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    assert cache.put("reply", "s", FIELDS, {"n": 1}) == {"n": 1}
    assert cache.put("reply", "s", FIELDS, {"n": 2}) == {"n": 1}
    cache.close()


def test_explain_names_the_fields_that_differ_from_the_nearest(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    assert cache.explain("reply", "s", FIELDS) == []
    cache.put("reply", "s", {**FIELDS, "model": "openai/y", "messages": [], "seed": 7}, {})
    cache.put("reply", "s", {**FIELDS, "settings": {"temperature": 1, "top": {"p": 1}}, "seed": 3}, {})
    cache.put("reply", "other", {**FIELDS, "model": "nearer, but of another slot"}, {})
    assert cache.explain("reply", "s", FIELDS) == ["seed", "settings.temperature"]
    assert cache.explain("reply", "s", {**FIELDS, "model": "openai/y", "messages": [], "seed": 7}) == []
    cache.close()


@pytest.mark.parametrize(
    "content", [b"this is no database at all, but a text", b"SQLite format 3\x00" + b"\x07" * 4000]
)
def test_a_garbled_file_is_set_aside_and_the_run_goes_on(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    with pytest.warns(StoreWarning, match="set aside as cache.sqlite.garbled-"):
        cache = Cache(path)
    cache.put("reply", "s", FIELDS, {"n": 1})
    assert cache.get("reply", FIELDS) == {"n": 1}
    cache.close()
    (aside,) = tmp_path.glob("cache.sqlite.garbled-*")
    assert aside.read_bytes() == content


def test_a_file_garbled_in_the_middle_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    said: list[str] = []
    cache = Cache(path, warn=said.append)
    for i in range(200):
        cache.put("reply", "s", {"i": i}, {"text": "x" * 500})
    cache.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(0).randbytes(size - 4096))
    cache = Cache(path, warn=said.append)
    values = [cache.get("reply", {"i": i}) for i in range(200)]
    assert None in values
    assert cache.put("reply", "s", {"i": 0}, {"n": 1}) == {"n": 1}
    assert cache.get("reply", {"i": 0}) == {"n": 1}
    cache.close()
    assert len(said) == 1
    assert "set aside" in said[0]


def test_a_row_that_is_no_json_is_a_miss_and_is_replaced(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.put("reply", "s", FIELDS, {"n": 1})
    with sqlite3.connect(tmp_path / "c") as db:
        db.execute("UPDATE entry SET value = substr(value, 1, 3)")
    db.close()
    assert cache.get("reply", FIELDS) is None
    assert cache.put("reply", "s", FIELDS, {"n": 2}) == {"n": 2}
    cache.close()


def test_another_format_is_set_aside(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "c") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.warns(StoreWarning, match="cache format 99"):
        cache = Cache(tmp_path / "c")
    assert cache.put("reply", "s", FIELDS, {}) == {}
    cache.close()


def test_a_locked_file_makes_misses_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path / "c", warn=said.append, busy_s=0.01)
    holder = sqlite3.connect(tmp_path / "c", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert cache.put("reply", "s", FIELDS, {"n": 1}) == {"n": 1}
    assert cache.put("reply", "s", FIELDS, {"n": 1}) == {"n": 1}
    holder.execute("ROLLBACK")
    holder.close()
    assert cache.get("reply", FIELDS) is None
    cache.close()
    assert len(said) == 1
    assert "locked" in said[0]


def test_a_path_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Cache(tmp_path)


def test_threads(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    winners: list[dict[str, object]] = []

    def work(n: int) -> None:
        for i in range(50):
            winners.append({"i": i, **cache.put("reply", "s", {"i": i}, {"by": n})})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.close()
    assert len({(w["i"], w["by"]) for w in winners}) == 50


def _work(path: Path, seed: int, count: int) -> list[tuple[int, int]]:
    cache = Cache(path)
    order = random.Random(seed).sample(range(count), count)
    found = [(i, cache.put("reply", f"s{i}", {"i": i}, {"by": seed})["by"]) for i in order]
    cache.close()
    return found


def test_four_processes_agree_on_every_value(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.starmap(_work, [(path, seed, 200) for seed in range(4)])
    agreed = {pair for result in results for pair in result}
    assert len(agreed) == 200
    assert not list(tmp_path.glob("*garbled*"))


def test_a_value_is_dropped_and_names_that_are_no_json_are_passed_over(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.put("reply", "s", FIELDS, {"n": 1})
    with sqlite3.connect(tmp_path / "c") as db:
        db.execute("UPDATE entry SET fields = '{'")
    db.close()
    assert cache.explain("reply", "s", {"model": 1}) == ["model"]
    assert not list(tmp_path.glob("*garbled*"))
    cache.drop("reply", FIELDS)
    assert cache.get("reply", FIELDS) is None
    cache.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_every_file_of_a_cache_is_the_owners_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "home" / "cache.sqlite")
    cache.put("reply", "s", FIELDS, {"n": 1})
    made = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "home").iterdir()}
    cache.close()
    assert {"cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm", "cache.sqlite.lock"} <= set(made)
    assert set(made.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
