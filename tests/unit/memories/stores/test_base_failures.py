"""What `StoreMemory` makes of killed processes, damaged disks, and failures of libraries and models."""

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
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import PERSONA
from tests.unit.memories.stores.notebook import Extractor, Notebook, ask, close, history

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


# ---- what a killed process or a damaged disk leaves ------------------------------------------------


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


# ---- failures surface, and are paid for once -------------------------------------------------------


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
    with pytest.raises(ModelError, match="answers for 3 of 3 sessions were not in the format"):
        ask(memory, history(0))
    close(memory)
    model = Extractor(lambda text: "garbage" if "secret 0" in text else json.dumps({"memory": text}))
    memory = StoreMemory(Notebook(), folder, model=model)
    with pytest.raises(ModelError, match="for the planted session d0-s was not in the format"):
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
