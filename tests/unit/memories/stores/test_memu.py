"""MemU's real library and its real store in memory, without a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MemoryStoreError, StoreError, UsageError
from pytest_hush.memories import control_retrieved, exposure, readiness
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.memories.stores.memu import MemU, MemUStore
from pytest_hush.memories.stores.memu_dump import RECORDS, VECTORS
from pytest_hush.model import PositiveControl
from tests.unit.memories.histories import PERSONA, PLANTED
from tests.unit.memories.stores.memu_extraction import Extraction
from tests.unit.memories.stores.memu_histories import BARE, SIX
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, Make, bases

SYSTEM = "memu"


def test_verbatim_keeps_every_turn_with_its_session_and_date(make: Make) -> None:
    memory = make()
    found = ask(memory, SIX, KIDNEYS)
    assert (found.label, memory.name) == ("memu@verbatim", "memu")
    assert found.notes == ("memu@verbatim: 14 entries, 4 from the planted session",)
    best = found.entries[0]
    assert best.text == f"Ada: {PLANTED.turns[2].text}"
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), ("p1-d1-s-t03",), "2025-02-24T18:00")
    assert len(found.entries) == 5
    told = ask(memory, SIX, "What did I buy for the kitchen?")
    assert readiness(found.entries, told.entries, SIX) == "planted"


def test_exposure_is_of_the_entries_shown(make: Make) -> None:
    memory = make(top_k=1)
    shown = exposure(ask(memory, SIX, KIDNEYS), SIX)
    assert (shown.exact, shown.residue, shown.ambient) == (True, False, False)
    other = exposure(ask(memory, SIX, "Who drinks the whisky?"), SIX)
    assert (other.exact, other.residue, other.ambient) == (False, False, True)


def test_the_fork_alone_holds_the_plant(make: Make, tmp_path: Path) -> None:
    memory = make()
    assert ask(memory, SIX, KIDNEYS).entries
    found = ask(memory, BARE, KIDNEYS)
    assert found.notes == ("memu@verbatim: 10 entries",)
    assert all("p1-d1-s" not in (e.sources or ()) for e in found.entries)
    bees = PositiveControl("p1-c1", "p1", "Which animals do I keep on the roof?", "p1-f1", ("bee", "hive"))
    assert control_retrieved(ask(memory, BARE, bees.question), bees, BARE) is True
    assert len(bases(tmp_path)) == 1


def test_settings_reach_the_library_and_the_key(make: Make) -> None:
    few = make(top_k=2)
    assert len(ask(few, SIX, KIDNEYS).entries) == 2
    assert few.settings["top_k"] == 2
    assert (few.settings["mode"], few.settings["summaries"]) == ("verbatim", False)
    assert "MiniLM" in few.settings["embedder"]
    assert few.version == "1 + memu-py 1.5.1"


def test_entries_come_in_the_order_of_their_cosines(make: Make) -> None:
    embedder = default_embedder()
    found = ask(make(), SIX, KIDNEYS).entries
    question, *rows = (np.asarray(v) for v in embedder.embed([KIDNEYS, *(e.text for e in found)]))
    cosines = [float(row @ question) for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    told = [f"{t.speaker}: {t.text}" for s in SIX.sessions for t in s.turns]
    best = sorted((float(np.asarray(v) @ question) for v in embedder.embed(told)), reverse=True)[:5]
    assert cosines == pytest.approx(best, abs=1e-5)


def test_the_same_dialogue_gives_the_same_entries_in_another_store(make: Make, tmp_path: Path) -> None:
    first = ask(make(), SIX, KIDNEYS)
    (base,) = bases(tmp_path)
    (base / MARKER).unlink()
    assert ask(make(), SIX, KIDNEYS) == first


def test_a_later_run_ingests_the_plant_only(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(make(), SIX, KIDNEYS)
    read: list[str] = []
    ingest = MemUStore.ingest
    monkeypatch.setattr(MemUStore, "ingest", lambda self, s, p: (read.append(s.id), ingest(self, s, p))[1])
    ask(make(), SIX, KIDNEYS)
    assert read == ["p1-d1-s"]


def test_a_damaged_base_is_an_error_that_says_what_to_remove(make: Make, tmp_path: Path) -> None:
    ask(make(), SIX, KIDNEYS)
    (base,) = bases(tmp_path)
    path = base / "store" / VECTORS
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(StoreError, match=r"dump of MemU's store is damaged .*Remove the folder 'memu'"):
        ask(make(), SIX, KIDNEYS)


def test_a_fork_is_written_at_once_and_closed_for_nothing(tmp_path: Path) -> None:
    """When a run ends, dozens of forks are closed within half a second, and then removed."""
    backend = MemU(default_embedder(), mode="verbatim")
    base = backend.open(tmp_path, None)
    for one in BARE.sessions:
        base.ingest(one, PERSONA)
    assert not (tmp_path / RECORDS).exists(), "the base is written once"
    base.close()
    fork = backend.open(tmp_path, None)
    assert fork.snapshot() == base.snapshot()
    fork.ingest(PLANTED, PERSONA)
    written = (tmp_path / RECORDS).stat()
    fork.close()
    assert (tmp_path / RECORDS).stat() == written
    assert len(backend.open(tmp_path, None).snapshot()) == 14


def test_a_full_disk_is_an_error_and_leaves_no_base(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = np.save
    monkeypatch.setattr(np, "save", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(MemoryStoreError, match=r"memu@verbatim: while it closed a store, .*No space left on device"):
        ask(make(), SIX, KIDNEYS)
    assert bases(tmp_path) == []
    monkeypatch.setattr(np, "save", save)
    assert ask(make(), SIX, KIDNEYS).entries


def test_llm_without_a_model_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match=r"memu.mode = 'llm': name the extraction model with --hush-memory-model"):
        make(mode="llm")


def test_an_unknown_setting_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match=r"memu: unknown setting 'ranking' \(known: mode, top_k, summaries\)"):
        make(ranking="salience")


def test_verbatim_can_be_asked_for_beside_a_model(make: Make) -> None:
    assert "model" not in make(Extraction(), mode="verbatim").settings


def test_resolving_writes_nothing(make: Make, tmp_path: Path) -> None:
    make(Extraction())
    assert list(tmp_path.iterdir()) == []
