"""Bases, forks and provenance of `StoreMemory`, with a memory system of our own behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_hush.memories import exposure
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import PERSONA, planted, unplanted
from tests.unit.memories.stores.notebook import Extractor, Notebook, ask, close, histories, history

READ = [f"ingest {s.id}" for s in PERSONA.sessions]


def ingested(book: Notebook) -> list[str]:
    return [line for line in book.log if line.startswith("ingest")]


def bases(folder: Path) -> list[Path]:
    return sorted(p.parent for p in folder.rglob(MARKER))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "stores"
    left = [p for p in tmp_path.rglob("forks/*") if p.is_dir()]
    assert left == [], "a fork was left behind"


# ---- what is answered ------------------------------------------------------------------------------


def test_entries_come_with_the_sources_of_the_ledger(folder: Path) -> None:
    memory = StoreMemory(Notebook(), folder)
    found = ask(memory, planted(), "kidneys dialysis")
    assert found.entries[0].text.startswith("Ada: It does. I should say it once: my kidneys fail")
    assert found.entries[0].sources == ("p1-d1-s",)
    assert found.entries[0].date == "2025-02-24T18:00"
    assert found.label == "notebook@test"
    assert found.notes == ("notebook@test: 10 entries, 4 from the planted session",)
    assert len(found.entries) == 5
    assert exposure(found, planted()).exact is True
    close(memory)


def test_a_background_alone_holds_nothing_of_a_plant(folder: Path) -> None:
    memory = StoreMemory(Notebook(), folder)
    ask(memory, planted())
    found = ask(memory, unplanted(), "kidneys dialysis")
    assert all("kidney" not in e.text for e in found.entries)
    assert found.notes == ("notebook@test: 6 entries",)
    close(memory)


def test_entry_ids_are_the_same_in_every_run_and_unique(folder: Path, tmp_path: Path) -> None:
    one, other = StoreMemory(Notebook(), folder), StoreMemory(Notebook(), tmp_path / "else" / "stores")
    found = [[e.id for e in ask(m, planted(), "kettle").entries] for m in (one, other)]
    assert found[0] == found[1]
    assert len(set(found[0])) == 5
    for memory in (one, other):
        close(memory)


def test_top_k_bounds_the_entries_and_is_a_setting(folder: Path) -> None:
    memory = StoreMemory(Notebook(settings={"x": 1}), folder, top_k=2)
    assert len(ask(memory, planted()).entries) == 2
    assert memory.settings == {"x": 1, "top_k": 2}
    close(memory)


# ---- bases and forks -------------------------------------------------------------------------------


def test_the_background_is_ingested_once_and_each_plant_once(folder: Path) -> None:
    book = Notebook()
    memory = StoreMemory(book, folder)
    for number in range(3):
        for question in ("secret", "bees", "canal"):
            found = ask(memory, history(number), question)
            assert not any(f"quellmire{n}" in e.text for e in found.entries for n in range(3) if n != number)
    assert ingested(book) == [*READ, "ingest d0-s", "ingest d1-s", "ingest d2-s"]
    assert len(bases(folder)) == 1
    close(memory)
    assert book.open_now == 0


def test_a_later_run_finds_the_base(folder: Path) -> None:
    first = StoreMemory(Notebook(), folder)
    ask(first, history(0))
    close(first)
    book = Notebook()
    later = StoreMemory(book, folder)
    ask(later, history(1))
    assert ingested(book) == ["ingest d1-s"]
    close(later)


@pytest.mark.parametrize("change", [{"version": "2"}, {"settings": {"embedder": "other"}}, {"name": "other"}])
def test_another_version_setting_or_system_is_another_base(folder: Path, change: dict[str, object]) -> None:
    for book in (Notebook(), Notebook(**change)):  # type: ignore[arg-type]
        memory = StoreMemory(book, folder)
        ask(memory, history(0))
        assert ingested(book) == [*READ, "ingest d0-s"]
        close(memory)
    assert len(bases(folder)) == 2


def test_where_order_matters_the_plant_is_read_in_its_place(folder: Path) -> None:
    book = Notebook(order_matters=True)
    memory = StoreMemory(book, folder)
    ask(memory, history(0, at=1))
    ask(memory, history(1, at=2))
    ask(memory, unplanted())
    assert ingested(book) == [
        *("ingest p1-s1", "ingest d0-s", "ingest p1-s2", "ingest p1-s3"),
        *("ingest p1-s2", "ingest d1-s", "ingest p1-s3"),
        "ingest p1-s3",
    ]
    assert len(bases(folder)) == 3
    close(memory)


def test_a_long_base_leaves_the_short_ones_of_the_protocol_behind(folder: Path) -> None:
    """So three bases cost one reading of the background, whichever is asked for first."""
    book = Notebook(order_matters=True)
    memory = StoreMemory(book, folder)
    ask(memory, unplanted())
    assert ingested(book) == READ
    assert len(bases(folder)) == 3
    ask(memory, history(0, at=2))
    assert ingested(book)[3:] == ["ingest d0-s", "ingest p1-s3"]
    close(memory)


def test_few_forks_are_open_and_a_closed_one_is_made_again(folder: Path) -> None:
    book = Notebook()
    memory = StoreMemory(book, folder, open_forks=2)
    for asked in histories(5):
        ask(memory, asked)
        assert book.open_now <= 2
    assert len([p for p in folder.glob("forks/*/*") if p.is_dir()]) == 2
    ask(memory, history(4))
    assert ingested(book).count("ingest d4-s") == 1
    ask(memory, history(0))
    assert ingested(book).count("ingest d0-s") == 2
    close(memory)
    assert book.open_now == 0


def test_a_fork_that_cost_calls_is_kept_while_it_is_closed(folder: Path) -> None:
    book, model = Notebook(), Extractor()
    memory = StoreMemory(book, folder, model=model, open_forks=1)
    first = ask(memory, history(0), "secret")
    ask(memory, history(1))
    calls = model.calls
    assert ask(memory, history(0), "secret") == first
    assert model.calls == calls
    close(memory)
    assert model.closed == 1


def test_it_can_be_asked_again_after_it_was_closed(folder: Path) -> None:
    memory = StoreMemory(Notebook(), folder)
    before = ask(memory, history(0))
    close(memory)
    assert ask(memory, history(0)) == before
    close(memory)


def test_many_questions_at_once_build_one_base(folder: Path) -> None:
    book = Notebook(slow_s=0.02)
    memory = StoreMemory(book, folder)

    async def all_at_once() -> None:
        await asyncio.gather(*(memory.context(h, q) for h in histories(4) for q in ("bees", "secret", "canal")))

    asyncio.run(all_at_once())
    assert sorted(ingested(book)) == sorted([*READ, *(f"ingest d{n}-s" for n in range(4))])
    close(memory)


# ---- provenance that cannot be trusted is an error -------------------------------------------------


def test_merged_entries_derive_from_all_they_were_made_of(folder: Path) -> None:
    memory = StoreMemory(Notebook(keep=2), folder)
    found = ask(memory, planted(), "kidneys")
    merged = next(e for e in found.entries if "kidney" in e.text)
    assert merged.sources == ("p1-d1-s", "p1-s1", "p1-s2", "p1-s3")
    close(memory)
