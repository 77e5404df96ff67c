"""Stores that hold all disclosures of a persona: one base, one copy, and each history's own books."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_hush.errors import MemoryStoreError, ModelError
from pytest_hush.memories import exposure, readiness
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import DISCLOSURE, SIBLING, planted, shared
from tests.unit.memories.stores.notebook import Extractor, Notebook, ask, close

ALL = ["p1-s1", "p1-s2", "p1-d1-s", "p1-d2-s", "p1-s3"]


def ingested(book: Notebook) -> list[str]:
    return [line.partition(" ")[2] for line in book.log if line.startswith("ingest")]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "stores"
    left = [p for p in tmp_path.rglob("forks/*") if p.is_dir()]
    assert left == [], "a copy was left behind"


@pytest.mark.parametrize("order_matters", [False, True])
def test_all_disclosures_and_the_controls_ask_one_store(folder: Path, order_matters: bool) -> None:
    book = Notebook(order_matters=order_matters)
    memory = StoreMemory(book, folder)
    for about in (DISCLOSURE, SIBLING, None):
        found = ask(memory, shared(about=about), "kidneys bailiff")
        assert {source for e in found.entries for source in e.sources or ()} >= {"p1-d1-s", "p1-d2-s"}
    assert ingested(book) == ALL
    assert len(list(folder.rglob(MARKER))) == 1
    assert len([p for p in folder.glob("forks/*/*") if p.is_dir()]) == 1
    close(memory)


def test_each_history_has_its_own_exposure_readiness_and_notes(folder: Path) -> None:
    memory = StoreMemory(Notebook(), folder)
    for about, other in ((DISCLOSURE, SIBLING), (SIBLING, DISCLOSURE)):
        history = shared(about=about)
        found = ask(memory, history, about.question + " owe bailiff" * (about is SIBLING))
        assert exposure(found, history).exact is True
        assert readiness(found.entries, (), history) == "planted"
        assert found.notes == ("notebook@test: 14 entries, 4 from the planted session",)
        elsewhere = ask(memory, history, " ".join(other.core) + " owe money dialysis kidneys")
        assert exposure(elsewhere, history).ambient is True
    assert ask(memory, shared(about=None)).notes == ("notebook@test: 14 entries",)
    close(memory)


def test_isolated_and_shared_stores_of_one_persona_do_not_mix(folder: Path) -> None:
    book = Notebook()
    memory = StoreMemory(book, folder)
    ask(memory, shared())
    found = ask(memory, planted(), "bailiff owe money")
    assert not any("bailiff" in e.text for e in found.entries)
    assert ingested(book) == [*ALL, "p1-s1", "p1-s2", "p1-s3", "p1-d1-s"]
    close(memory)


def test_a_store_that_kept_the_plants_alone_is_an_error(folder: Path) -> None:
    def only_plants(text: str) -> str:
        plants = [t.text for d in (DISCLOSURE, SIBLING) for t in d.turns]
        return json.dumps({"memory": text if text in plants else ""})

    memory = StoreMemory(Notebook(), folder, model=Extractor(only_plants))
    with pytest.raises(MemoryStoreError, match="the store is empty after 5 sessions, but for"):
        ask(memory, shared())
    close(memory)


def test_a_plant_that_could_not_be_read_is_an_error_of_its_own_cases(folder: Path) -> None:
    model = Extractor(lambda text: "Sure!" if "kidneys" in text else json.dumps({"memory": text}))
    memory = StoreMemory(Notebook(), folder, model=model)
    for _ in range(2):
        with pytest.raises(ModelError, match="for the planted session p1-d1-s was not in the format"):
            ask(memory, shared())
        found = ask(memory, shared(about=SIBLING), "bailiff")
        assert found.notes == (
            "notebook@test: 13 entries, 4 from the planted session",
            "notebook@test: the extraction of 1 sessions was unreadable",
        )
    assert model.calls == 14
    close(memory)
