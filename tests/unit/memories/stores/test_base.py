"""Bases, forks, provenance and failures of `StoreMemory`, with a memory system of our own behind it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_hush.errors import MemoryStoreError, ModelError, RefusedCallError, StoreError
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


# ---- what is answered -------------------------------------------------------------------------------


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


# ---- bases and forks --------------------------------------------------------------------------------


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


# ---- provenance that cannot be trusted is an error --------------------------------------------------


def test_merged_entries_derive_from_all_they_were_made_of(folder: Path) -> None:
    memory = StoreMemory(Notebook(keep=2), folder)
    found = ask(memory, planted(), "kidneys")
    merged = next(e for e in found.entries if "kidney" in e.text)
    assert merged.sources == ("p1-d1-s", "p1-s1", "p1-s2", "p1-s3")
    close(memory)


# ---- what a killed process or a damaged disk leaves -------------------------------------------------


CHILD = """
import asyncio, sys, time
from pathlib import Path
from pytest_hush.memories.stores.base import StoreMemory
from tests.unit.memories.stores.notebook import Notebook, history
book = Notebook(slow_s=float(sys.argv[2]))
memory = StoreMemory(book, Path(sys.argv[1]))
async def main():
    task = asyncio.ensure_future(memory.context(history(int(sys.argv[3])), "secret"))
    while not book.log: await asyncio.sleep(0.001)
    print("begun", flush=True)
    found = await task
    print([e.text for e in found.entries][0], [l for l in book.log if l.startswith("ingest")], flush=True)
    await memory.close()
asyncio.run(main())
"""


def child(folder: Path, slow_s: float, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(slow_s), str(number)],
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[4]), *sys.path])},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_base_of_a_process_killed_in_mid_ingest_is_built_anew(folder: Path) -> None:
    process = child(folder, 30.0, 0)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.kill()
    process.communicate()
    assert list(folder.rglob("*.partial"))
    assert bases(folder) == []
    book = Notebook()
    memory = StoreMemory(book, folder)
    assert ask(memory, history(0), "secret").entries[0].text == "Ada: My secret 0 is a quellmire0."
    assert ingested(book) == [*READ, "ingest d0-s"]
    assert list(folder.rglob("*.partial")) == []
    close(memory)


def test_forks_of_a_killed_process_are_swept_and_those_of_a_living_one_are_not(folder: Path) -> None:
    memory = StoreMemory(Notebook(), folder)
    ask(memory, history(0))
    process = child(folder, 0.0, 1)
    process.wait()
    dead = child(folder, 30.0, 2)
    assert dead.stdout is not None
    assert dead.stdout.readline() == "begun\n"
    assert len([p for p in folder.glob("forks/*") if p.is_dir()]) == 2
    dead.kill()
    dead.communicate()
    assert process.stdout is not None
    process.stdout.close()
    other = StoreMemory(Notebook(), folder)
    ask(other, history(3))
    assert len([p for p in folder.glob("forks/*") if p.is_dir()]) == 2, "the living one's and the other's"
    ask(memory, history(0))
    close(other)
    close(memory)


def test_two_processes_at_once_build_one_base_and_see_their_own_plant(folder: Path) -> None:
    processes = [child(folder, 0.1, number) for number in (0, 1)]
    told = [process.communicate(timeout=60)[0].splitlines()[-1] for process in processes]
    for number, line in enumerate(told):
        assert line.startswith(f"Ada: My secret {number} is a quellmire{number}.")
    assert sum("ingest p1-s1" in line for line in told) == 1, told
    assert len(bases(folder)) == 1


@pytest.mark.parametrize("damage", ["marker", "ledger", "content", "gone"])
def test_a_damaged_base_is_one_clear_error(folder: Path, damage: str) -> None:
    first = StoreMemory(Notebook(), folder)
    ask(first, history(0))
    close(first)
    (base,) = bases(folder)
    marker = base / MARKER
    if damage == "marker":
        marker.write_text(marker.read_text("utf-8")[:40], "utf-8")
    elif damage == "ledger":
        data = json.loads(marker.read_text("utf-8"))
        data["ledger"]["entries"].popitem()
        marker.write_text(json.dumps(data), "utf-8")
    elif damage == "content":
        notes = base / "store" / "notes.json"
        notes.write_text(notes.read_text("utf-8").replace("bees", "wasps"), "utf-8")
    else:
        (base / "store" / "notes.json").unlink()
    memory = StoreMemory(Notebook(), folder)
    with pytest.raises(StoreError, match=r"Remove the folder; it is built anew") as caught:
        ask(memory, history(0))
    assert str(base) in str(caught.value)
    close(memory)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    memory = StoreMemory(Notebook(), tmp_path / "file")
    with pytest.raises(StoreError, match=r"file/"):
        ask(memory, history(0))
    close(memory)


# ---- failures surface, and are paid for once --------------------------------------------------------


def test_an_exception_of_the_library_is_an_error_and_no_base(folder: Path) -> None:
    book = Notebook(fail_on="p1-s2")
    memory = StoreMemory(book, folder)
    for number in range(3):
        with pytest.raises(MemoryStoreError, match=r"notebook@test: while it read the session p1-s2, .*KeyError at"):
            ask(memory, history(number))
    assert ingested(book) == READ[:2], "every history needs this base: it was tried once"
    assert bases(folder) == []
    close(memory)
    assert book.open_now == 0


def test_an_exception_while_the_plant_is_read_fails_that_history_alone(folder: Path) -> None:
    book = Notebook(fail_on="d1-s")
    memory = StoreMemory(book, folder)
    for _ in range(2):
        with pytest.raises(MemoryStoreError, match="d1-s"):
            ask(memory, history(1))
    assert ask(memory, history(0)).entries
    assert ingested(book).count("ingest d1-s") == 1
    close(memory)


def test_an_empty_store_is_an_error(folder: Path) -> None:
    memory = StoreMemory(Notebook(stores_nothing=True), folder)
    with pytest.raises(MemoryStoreError, match="the store is empty after 3 sessions"):
        ask(memory, history(0))
    close(memory)


def test_a_library_that_loses_what_it_was_told_is_an_error(folder: Path) -> None:
    memory = StoreMemory(Notebook(forgets_on_close=True), folder)
    with pytest.raises(MemoryStoreError, match=r"6 entries were stored and 0 are there .* Is the disk full\?"):
        ask(memory, history(0))
    assert bases(folder) == []
    close(memory)


def test_a_failure_of_the_model_is_the_models_and_surfaces(folder: Path) -> None:
    def down(text: str) -> str:
        raise RefusedCallError("the model refused", status=400)

    model = Extractor(down)
    memory = StoreMemory(Notebook(), folder, model=model)
    for number in range(2):
        with pytest.raises(RefusedCallError, match="the model refused") as caught:
            ask(memory, history(number))
        assert caught.value.status == 400
    assert model.calls == 1
    close(memory)


def test_a_model_that_answers_garbage_is_an_error_for_the_plant_and_a_note_for_a_few_others(folder: Path) -> None:
    memory = StoreMemory(Notebook(), folder, model=Extractor(lambda text: "Sure! Here you go."))
    with pytest.raises(ModelError, match="no JSON object for 3 of 3 sessions"):
        ask(memory, history(0))
    close(memory)
    model = Extractor(lambda text: "garbage" if "secret 0" in text else json.dumps({"memory": text}))
    memory = StoreMemory(Notebook(), folder, model=model)
    with pytest.raises(ModelError, match="for the planted session d0-s was no JSON object"):
        ask(memory, history(0))
    assert ask(memory, history(1)).notes == ("notebook@test: 8 entries, 2 from the planted session",)
    close(memory)


def test_what_a_users_model_without_a_version_extracted_does_not_outlive_the_process(folder: Path) -> None:
    class Mine(Extractor):
        cacheable = False

    memory = StoreMemory(Notebook(), folder, model=Mine())
    assert ask(memory, history(0)).entries
    assert len(bases(folder)) == 1
    close(memory)
    assert bases(folder) == []


def test_the_extraction_model_is_part_of_the_settings(folder: Path) -> None:
    assert StoreMemory(Notebook(), folder, model=Extractor()).settings["model"] == {
        "name": "scripted/extractor",
        "temperature": 0,
    }
    assert "model" not in StoreMemory(Notebook(), folder).settings


def test_a_question_that_nobody_waits_for_any_more_stops_asking_the_model(folder: Path) -> None:
    class Endless(Extractor):
        async def reply(self, prompt):  # type: ignore[no-untyped-def]
            self.calls += 1
            if self.calls == 1:
                await asyncio.sleep(60)
            return await Extractor.reply(self, prompt)

    model = Endless()
    memory = StoreMemory(Notebook(), folder, model=model)

    async def cancelled() -> None:
        task = asyncio.ensure_future(memory.context(history(0), "bees"))
        while not model.calls:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The next one is answered: what was given up is no failure of the memory.
        assert (await asyncio.wait_for(memory.context(history(0), "bees"), 30)).entries

    asyncio.run(cancelled())
    close(memory)
    assert not [t for t in threading.enumerate() if t.name.startswith("hush-store")]
