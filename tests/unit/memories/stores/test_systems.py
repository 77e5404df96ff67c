"""What holds for every memory system's own library alike, in the mode without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.memories import exposure, readiness, resolve_memory
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.model import Condition
from tests.unit.memories.histories import DISCLOSURE, SIBLING, pack, planted, shared
from tests.unit.memories.stores.notebook import ask, close
from tests.unit.memories.stores.systems import NEEDS, bases


@pytest.mark.parametrize("system", NEEDS)
def test_a_shared_store_holds_both_plants_and_each_case_asks_about_its_own(system: str, tmp_path: Path) -> None:
    NEEDS[system]()
    memory = resolve_memory(
        Condition.parse(f"{system}+shared"), pack=pack(), embedder=default_embedder, stores=tmp_path / "stores"
    )
    assert isinstance(memory, StoreMemory)
    for about, other in ((DISCLOSURE, SIBLING), (SIBLING, DISCLOSURE)):
        history = shared(about=about)
        found = ask(memory, history, about.question)
        assert found.notes == (f"{memory.backend.label}: 14 entries, 4 from the planted session",)
        assert found.entries[0].sources == (about.session_id,)
        fact = ask(memory, history, about.session_fact.question)
        assert readiness(found.entries, fact.entries, history) == "planted"
        assert exposure(found, history).exact is True
        # The other disclosure, asked for by its own question, is ambient here.
        assert exposure(ask(memory, history, other.question), history).ambient is True
    assert len(bases(tmp_path)) == 1
    isolated = ask(memory, planted(), SIBLING.question)
    assert not any("bailiff" in entry.text for entry in isolated.entries)
    close(memory)
