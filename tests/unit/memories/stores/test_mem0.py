"""Mem0's real library and its real FAISS store, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_hush.errors import MissingExtraError, UsageError
from pytest_hush.memories import control_retrieved, exposure, readiness
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.model import PositiveControl
from tests.unit.memories.histories import PLANTED, planted, unplanted
from tests.unit.memories.stores.extraction import Extraction
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, Make

SYSTEM = "mem0"


def test_verbatim_keeps_every_turn_with_its_session_and_date(make: Make) -> None:
    memory = make()
    found = ask(memory, planted(), KIDNEYS)
    assert (found.label, memory.name) == ("mem0@verbatim", "mem0")
    assert found.notes == ("mem0@verbatim: 10 entries, 4 from the planted session",)
    best = found.entries[0]
    assert best.text == f"Ada: {PLANTED.turns[2].text}"
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), ("p1-d1-s-t03",), "2025-02-24T18:00")
    assert 1 <= len(found.entries) <= 5
    assert exposure(found, planted()).exact is True
    told = ask(memory, planted(), "What did I buy for the kitchen?")
    assert readiness(found.entries, told.entries, planted()) == "planted"


def test_the_fork_alone_holds_the_plant(make: Make) -> None:
    memory = make()
    assert ask(memory, planted(), KIDNEYS).entries
    found = ask(memory, unplanted(), KIDNEYS)
    assert all("p1-d1-s" not in (e.sources or ()) for e in found.entries)
    bees = PositiveControl("p1-c1", "p1", "Which animals do I keep on the roof?", "p1-f1", ("bee", "hive"))
    assert control_retrieved(ask(memory, unplanted(), bees.question), bees, unplanted()) is True


def test_settings_reach_the_library_and_the_key(make: Make) -> None:
    few, strict = make(top_k=2), make(threshold=0.99)
    assert len(ask(few, planted(), KIDNEYS).entries) == 2
    assert ask(strict, planted(), KIDNEYS).entries == ()
    assert few.settings["top_k"] == 2
    assert strict.settings["threshold"] == 0.99
    assert few.settings["mode"] == "verbatim"
    assert "MiniLM" in few.settings["embedder"]
    assert "mem0ai 2." in few.version
    assert "faiss-cpu" in few.version


def test_the_same_dialogue_gives_the_same_entries_in_another_store(make: Make, tmp_path: Path) -> None:
    first = ask(make(), planted(), KIDNEYS)
    (base,) = [p.parent for p in tmp_path.rglob(MARKER)]
    (base / MARKER).unlink()
    assert ask(make(), planted(), KIDNEYS) == first


def test_no_model_is_called_and_a_later_run_ingests_the_plant_only(make: Make, tmp_path: Path) -> None:
    ask(make(), planted(), KIDNEYS)
    (marker,) = tmp_path.rglob(MARKER)
    written = marker.stat().st_mtime_ns
    assert json.loads(marker.read_text("utf-8"))["calls"] == 0
    ask(make(), planted(), KIDNEYS)
    assert [p.stat().st_mtime_ns for p in tmp_path.rglob(MARKER)] == [written]


def test_the_missing_extra_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "faiss" else real(name, *a))
    with pytest.raises(MissingExtraError, match=r"needs faiss-cpu, .* pip install 'pytest-hush\[mem0\]'"):
        make()


def test_llm_without_a_model_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match=r"mem0.mode = 'llm': name the extraction model with --hush-memory-model"):
        make(mode="llm")


def test_verbatim_can_be_asked_for_beside_a_model(make: Make) -> None:
    assert "model" not in make(Extraction(), mode="verbatim").settings


def test_resolving_writes_nothing(make: Make, tmp_path: Path) -> None:
    make(Extraction())
    assert list(tmp_path.iterdir()) == []
