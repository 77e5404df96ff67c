"""Mem0's library in processes of its own: what it sends and writes, and a whole dialogue."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import planted
from tests.unit.memories.stores.extraction import Extraction
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.processes import (
    NOTHING,
    both_done,
    caught,
    check_a_dialogue,
    hanging,
    kill_in_mid_ingest,
)
from tests.unit.memories.stores.systems import KIDNEYS, Make, tree

SYSTEM = "mem0"
MODEL = "tests.unit.memories.stores.extraction:Extraction"
MODELS = """
from tests.unit.memories.stores.extraction import Extraction
MODELS = (None, Extraction())
"""
CHECKS = """
import mem0.memory.main, mem0.memory.telemetry
assert mem0.memory.telemetry.MEM0_TELEMETRY is False and mem0.memory.main.MEM0_TELEMETRY is False
assert mem0.memory.telemetry.client_telemetry.posthog is None
assert "MEM0_DIR" not in os.environ and "MEM0_TELEMETRY" not in os.environ
assert any(w.endswith("history.db") for w in written)
"""


def test_nothing_is_sent_anywhere_and_nothing_written_outside_the_stores(tmp_path: Path) -> None:
    assert caught(SYSTEM, MODELS, CHECKS, tmp_path) == NOTHING
    found = tree(tmp_path)
    assert {n for n in found if n.startswith(("home", "work", "tmp"))} == {"home", "work", "tmp"}
    assert "stores/mem0-home/config.json" in found, "what Mem0 writes on its own lies beside the stores"


@pytest.mark.real
def test_a_base_killed_in_mid_ingest_is_built_anew(make: Make, tmp_path: Path) -> None:
    kill_in_mid_ingest(hanging(SYSTEM, MODEL, at=2), tmp_path, "index/*.json")
    model = Extraction()
    assert ask(make(model), planted(), KIDNEYS).notes == ("mem0@llm: 5 entries, 2 from the planted session",)
    assert len(model.prompts) == 3, "all but the first session, whose base was complete"


@pytest.mark.real
def test_a_dialogue_of_locomo_ledger_against_content(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    check_a_dialogue(make(), lambda turn: turn.speaker, capsys)


@pytest.mark.real
def test_two_processes_at_once_share_one_base(make: Make, tmp_path: Path) -> None:
    both_done(hanging(SYSTEM, MODEL, at=0), tmp_path)
    # The base before the plant; the protocol's second position falls on the same session here.
    assert len(list(tmp_path.rglob(MARKER))) <= 2
    model = Extraction()
    ask(make(model), planted(), KIDNEYS)
    assert len(model.prompts) == 2


def test_an_open_loop_is_needed_for_nothing_but_the_question(make: Make) -> None:
    """Two runs in one process, each with a loop of its own, share the memory."""
    model = Extraction()
    memory = make(model)
    for _ in range(2):
        assert asyncio.run(memory.context(planted(), KIDNEYS)).entries
    assert len(model.prompts) == 4
