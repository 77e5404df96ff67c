"""The edition of A-Mem by the paper's authors, where it can be imported: its notes live in memory, and so in a dump."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MissingExtraError
from pytest_hush.memories import resolve_memory
from pytest_hush.memories.stores import amem_library
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.model import Condition
from tests.unit.memories.histories import PLANTED, needs_embedder, pack, planted, unplanted
from tests.unit.memories.stores.amem_model import Answer, Neighbour, Noting, evolution
from tests.unit.memories.stores.notebook import ask, close

BEES = "Which animals do I keep on the roof?"


@pytest.fixture(autouse=True)
def libraries() -> None:
    pytest.importorskip("chromadb", reason="chromadb is not installed (extra 'a-mem')")
    needs_embedder()
    try:
        found = amem_library.edition()
    except MissingExtraError:
        pytest.skip("A-Mem is not installed")
    if found.keeps_notes:
        pytest.skip("the edition of A-Mem on PyPI is installed; these tests are of the authors'")


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Any]:
    made: list[StoreMemory] = []

    def make(model: Noting | None = None) -> StoreMemory:
        found = resolve_memory(
            Condition.parse("a-mem"),
            pack=pack(),
            embedder=default_embedder,
            stores=tmp_path / "stores",
            memory_model=None if model is None else lambda: model,
        )
        assert isinstance(found, StoreMemory)
        made.append(found)
        return found

    yield make
    for one in made:
        close(one)


def test_notes_survive_the_copy_of_a_base_and_stores_do_not_wipe_each_other(stores: Any, tmp_path: Path) -> None:
    memory = stores()
    assert memory.version.startswith("1 + agiresearch/A-mem ")
    found = ask(memory, planted(), "What did I tell you about my kidneys?")
    assert found.notes == ("a-mem@verbatim-analyser: 10 entries, 4 from the planted session",)
    assert found.entries[0].text == f"Ada: {PLANTED.turns[2].text}", "this edition describes no note"
    assert found.entries[0].sources == ("p1-d1-s",)
    assert not [e for e in ask(memory, unplanted(), "kidneys").entries if "p1-d1-s" in (e.sources or ())]
    assert ask(memory, planted(), "What did I tell you about my kidneys?") == found
    (marker,) = tmp_path.rglob(MARKER)
    dumped = json.loads((marker.parent / "store" / "notes.json").read_text("utf-8"))
    assert len(dumped["notes"]) == 6


def test_the_notes_that_it_rewrites_are_seen_whichever_they_are(stores: Any) -> None:
    """It counts neighbours from the first note of the store, whatever was found: the ledger sees what was changed."""

    def evolve(content: str, near: list[Neighbour]) -> Answer:
        if "dialysis" not in content:
            return evolution()
        return evolution("update_neighbor", neighbours=[Neighbour("", "", "told of dialysis", ["changed"])])

    model = Noting(evolve)
    found = ask(stores(model), planted(), BEES)
    assert len(model.prompts) == 9, "one call a note but for the first"
    (bees,) = [e for e in found.entries if "I keep bees" in e.text]
    assert bees.text.endswith("[context: told of dialysis; tags: changed]")
    assert bees.sources == ("p1-d1-s", "p1-s1")
