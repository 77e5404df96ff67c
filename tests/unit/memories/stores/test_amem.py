"""A-Mem's real library (the maintained edition on PyPI) and its real Chroma, with the analyser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import MissingExtraError, UsageError
from pytest_hush.memories import control_retrieved, exposure, readiness
from pytest_hush.memories.stores import amem_library
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.model import History, PositiveControl
from tests.unit.memories.histories import (
    DISCLOSURE,
    PERSONA,
    PLANTED,
    planted,
    session,
    unplanted,
)
from tests.unit.memories.stores.amem_model import (
    Noting,
)
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, Make

SYSTEM = "a-mem"
SIX = (
    *PERSONA.sessions,
    session("p1-s4", "2025-04-10T18:00", "The queen bee is gone from one hive.", "Will they raise another?"),
    session("p1-s5", "2025-05-10T18:00", "We rowed to the lock and back.", "Did you win?"),
)


def six() -> History:
    persona = replace(PERSONA, sessions=SIX)
    return History(persona, (*SIX[:4], PLANTED, SIX[4]), DISCLOSURE, PLANTED.id, PLANTED.turns[2].id)


def test_every_turn_of_six_sessions_is_a_note_with_its_session_and_date(make: Make) -> None:
    memory = make()
    found = ask(memory, six(), KIDNEYS)
    assert (found.label, memory.name) == ("a-mem@verbatim-analyser", "a-mem")
    assert found.notes == ("a-mem@verbatim-analyser: 14 entries, 4 from the planted session",)
    best = found.entries[0]
    assert best.text == (
        f"Ada: {PLANTED.turns[2].text} [context: dialysis starts on Monday at the Quellmire clinic; "
        f"keywords: quellmire, dialysis, kidneys, starts, monday; tags: conversation, statement]"
    )
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), ("p1-d1-s-t03",), "2025-02-24T18:00")
    assert len(found.entries) == 5
    assert exposure(found, six()).exact is True
    told = ask(memory, six(), "What did I buy for the kitchen?")
    assert readiness(found.entries, told.entries, six()) == "planted"
    session_of = {turn.id: one.id for one in six().sessions for turn in one.turns}
    for question in ("bees", "rowing", "Who drinks whisky?"):
        entries = ask(memory, six(), question).entries
        assert all(e.sources == (session_of[e.turns[0]],) for e in entries)


def test_the_fork_alone_holds_the_plant_while_both_are_open(make: Make) -> None:
    """The authors' edition kept one Chroma for a process, and the second store wiped the first."""
    memory = make()
    assert ask(memory, planted(), KIDNEYS).entries
    found = ask(memory, unplanted(), KIDNEYS)
    assert all("p1-d1-s" not in (e.sources or ()) for e in found.entries)
    bees = PositiveControl("p1-c1", "p1", "Which animals do I keep on the roof?", "p1-f1", ("bee", "hive"))
    assert control_retrieved(ask(memory, unplanted(), bees.question), bees, unplanted()) is True
    assert exposure(ask(memory, planted(), KIDNEYS), planted()).exact is True


def test_settings_reach_the_library_and_the_key(make: Make) -> None:
    few = make(top_k=2)
    assert len(ask(few, planted(), KIDNEYS).entries) == 2
    assert few.settings["top_k"] == 2
    assert few.settings["mode"] == "verbatim-analyser"
    assert few.settings["analyser"].startswith("1-")
    assert "MiniLM" in few.settings["embedder"]
    assert "a-mem 0." in few.version
    assert "chromadb 1." in few.version


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


def test_a_note_looks_for_no_neighbour_where_none_can_change(make: Make) -> None:
    memory = make()
    embedder, texts = memory.backend._embedder, []  # type: ignore[attr-defined]

    class Counting:
        name, version = embedder.name, embedder.version

        def embed(self, given: Any) -> Any:
            texts.extend(given)
            return embedder.embed(given)

    memory.backend._embedder = Counting()  # type: ignore[attr-defined]
    ask(memory, planted(), KIDNEYS)
    assert len(texts) == 10 + 1


def test_an_absent_library_names_the_install_line(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amem_library, "_folder", lambda: None)
    with pytest.raises(MissingExtraError, match=r"needs a-mem, .*pip install 'pytest-hush\[a-mem\]' && hush install"):
        make()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "verbatim"}, "a-mem.mode = 'verbatim': expected one of verbatim-analyser, llm"),
        ({"top_k": 6}, "a-mem.top_k = 6: expected a whole number from 1 to 5"),
        ({"topk": 3}, "unknown setting 'topk' .known: mode, top_k, in_order"),
        ({"mode": "llm"}, "name the extraction model with --hush-memory-model"),
    ],
)
def test_a_wrong_setting_is_a_usage_error(make: Make, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(**settings)


def test_the_analyser_can_be_asked_for_beside_a_model(make: Make) -> None:
    assert "model" not in make(Noting(), mode="verbatim-analyser").settings


def test_resolving_writes_nothing(make: Make, tmp_path: Path) -> None:
    make(Noting())
    assert list(tmp_path.iterdir()) == []
