"""MemU's library in processes of its own: what it sends and writes, and a whole dialogue."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.memories import exposure
from pytest_hush.memories.stores.memu_dump import RECORDS
from tests.unit.memories.histories import PLANTED, locomo
from tests.unit.memories.stores.memu_extraction import Extraction
from tests.unit.memories.stores.memu_histories import SIX
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, ROOT, Make, isolated, tree, with_sources

SYSTEM = "memu"


TRAP = """
import asyncio, logging, os, socket, sys
connected, written = [], []
stores, out = sys.argv[1], sys.argv[2]
def audit(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"): connected.append(str(args))
    elif event == "open" and isinstance(args[0], (str, bytes, os.PathLike)) and (
        isinstance(args[1], str) and set(args[1]) & set("wax+")
        or isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        written.append(os.path.abspath(os.fsdecode(args[0])))
    elif event in ("os.mkdir", "sqlite3.connect", "os.rename"): written.append(os.path.abspath(os.fsdecode(args[0])))
sys.addaudithook(audit)
from pathlib import Path
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack, planted
from tests.unit.memories.stores.memu_extraction import Extraction
before = dict(os.environ)
for model in (None, Extraction(answers={"segments": "none"})):
    memory = resolve_memory(Condition.parse("memu"), pack=pack(), embedder=default_embedder, stores=Path(stores),
                            memory_model=None if model is None else lambda: model,
                            settings={"memu": {"summaries": True}})
    async def main():
        assert (await memory.context(planted(), "kidneys")).entries
        await memory.close()
    asyncio.run(main())
assert model.kinds.count("summary") == 4
assert dict(os.environ) == before
assert logging.getLogger().handlers == []
outside = [w for w in written if not w.startswith((stores, "/dev/")) and w != out]
with open(out, "w") as file: print(connected, outside, len(written) > 0, file=file)
"""


def test_nothing_is_sent_anywhere_and_nothing_written_outside_the_stores(tmp_path: Path) -> None:
    environment, out = isolated(tmp_path), tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", TRAP, str(tmp_path / "stores"), str(out)],
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert out.read_text("utf-8").strip() == "[] [] True"
    assert (done.stdout, done.stderr) == ("", "")
    found = tree(tmp_path)
    assert {n for n in found if n.startswith(("home", "work", "tmp"))} == {"home", "work", "tmp"}
    conversations = [n for n in found if "/resources/" in n]
    assert len(conversations) == 3, "what MemU read lies in the folder of its store"
    for name in found:
        path = tmp_path / name
        if path.name == RECORDS:
            assert str(tmp_path) not in path.read_text("utf-8"), "a store that is copied knows no path of its own"


KILLED = """
import asyncio, sys
from pathlib import Path
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack
from tests.unit.memories.stores.memu_extraction import Extraction
from tests.unit.memories.stores.memu_histories import SIX
class Hangs(Extraction):
    async def reply(self, prompt):
        answer = await super().reply(prompt)
        if len(self.prompts) == 7:
            print("third session", flush=True)
            await asyncio.sleep(60)
        return answer
memory = resolve_memory(Condition.parse("memu"), pack=pack(), embedder=default_embedder, stores=Path(sys.argv[1]),
                        memory_model=Hangs)
asyncio.run(memory.context(SIX, "kidneys"))
"""


@pytest.mark.real
def test_a_base_killed_in_mid_ingest_is_built_anew(make: Make, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "stores")],
        cwd=ROOT,
        env=with_sources(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "third session\n"
    process.kill()
    process.communicate()
    assert list(tmp_path.rglob("*.partial/store/resources/*.json")), "something was half-written"
    model = Extraction()
    assert ask(make(model), SIX, KIDNEYS).notes == ("memu@llm: 9 entries, 3 from the planted session",)
    assert len(model.prompts) == 18


@pytest.mark.real
def test_a_dialogue_of_locomo_ledger_against_content(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    history = locomo(0)
    session_of = {t.id: s for s in history.sessions for t in s.turns}
    memory = make()
    started = time.perf_counter()
    first = ask(memory, history, KIDNEYS)
    built = time.perf_counter() - started
    checked, searched = 0, 0.0
    for turn in [t for s in history.sessions[::3] for t in s.turns[::5]]:
        started = time.perf_counter()
        entries = ask(memory, history, turn.text).entries
        searched += time.perf_counter() - started
        for entry in entries:
            origin = session_of[entry.turns[0]]
            assert entry.sources == (origin.id,)
            assert entry.date == origin.date
            assert entry.text.startswith(next(t for t in origin.turns if t.id == entry.turns[0]).speaker)
            checked += 1
    assert checked > 50
    assert exposure(first, history).exact is True
    started = time.perf_counter()
    again = replace(PLANTED, id="other-s")
    sessions = tuple(again if s.id == PLANTED.id else s for s in history.sessions)
    ask(memory, replace(history, sessions=sessions, planted=again.id), KIDNEYS)
    forked = time.perf_counter() - started
    with capsys.disabled():
        print(
            f"\nLoCoMo 0: {first.notes[0]}; base {built:.1f} s, fork and search {forked:.3f} s, "
            f"search {searched / (checked / 5):.3f} s, {checked} checked"
        )
