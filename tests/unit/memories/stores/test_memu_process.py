"""MemU's library in processes of its own: what it sends and writes, and a whole dialogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_hush.memories.stores.memu_dump import RECORDS
from tests.unit.memories.stores.memu_extraction import Extraction
from tests.unit.memories.stores.memu_histories import SIX
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.processes import NOTHING, caught, check_a_dialogue, hanging, kill_in_mid_ingest
from tests.unit.memories.stores.systems import KIDNEYS, Make, tree

SYSTEM = "memu"
MODEL = "tests.unit.memories.stores.memu_extraction:Extraction"
MODELS = """
from tests.unit.memories.stores.memu_extraction import Extraction
MODELS = (None, Extraction(answers={"segments": "none"}))
"""
CHECKS = """
import logging
assert model.kinds.count("summary") == 4
assert dict(os.environ) == before
assert logging.getLogger().handlers == []
"""


def test_nothing_is_sent_anywhere_and_nothing_written_outside_the_stores(tmp_path: Path) -> None:
    assert caught(SYSTEM, MODELS, CHECKS, tmp_path, settings="{'memu': {'summaries': True}}") == NOTHING
    found = tree(tmp_path)
    assert {n for n in found if n.startswith(("home", "work", "tmp"))} == {"home", "work", "tmp"}
    conversations = [n for n in found if "/resources/" in n]
    assert len(conversations) == 3, "what MemU read lies in the folder of its store"
    for name in found:
        path = tmp_path / name
        if path.name == RECORDS:
            assert str(tmp_path) not in path.read_text("utf-8"), "a store that is copied knows no path of its own"


@pytest.mark.real
def test_a_base_killed_in_mid_ingest_is_built_anew(make: Make, tmp_path: Path) -> None:
    kill_in_mid_ingest(hanging(SYSTEM, MODEL, at=7, history="SIX"), tmp_path, "resources/*.json")
    model = Extraction()
    assert ask(make(model), SIX, KIDNEYS).notes == ("memu@llm: 9 entries, 3 from the planted session",)
    assert len(model.prompts) == 18


@pytest.mark.real
def test_a_dialogue_of_locomo_ledger_against_content(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    check_a_dialogue(make(), lambda turn: turn.speaker, capsys)
