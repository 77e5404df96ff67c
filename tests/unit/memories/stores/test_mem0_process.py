"""Mem0's library in processes of its own: what it sends and writes, and a whole dialogue."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.memories import exposure
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import PLANTED, locomo, planted
from tests.unit.memories.stores.extraction import Extraction
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, ROOT, Make, isolated, tree, with_sources

SYSTEM = "mem0"


TRAP = """
import asyncio, os, socket, sys
connected, written = [], []
stores, out = sys.argv[1], sys.argv[2]
def audit(event, args):
    if event == "socket.connect": connected.append(str(args[1]))
    elif event == "socket.getaddrinfo": connected.append(str(args[0]))
    elif event == "open" and isinstance(args[0], (str, bytes, os.PathLike)) and (
        isinstance(args[1], str) and set(args[1]) & set("wax+")
        or isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        written.append(os.path.abspath(os.fsdecode(args[0])))
    elif event in ("os.mkdir", "sqlite3.connect", "os.rename"): written.append(os.path.abspath(os.fsdecode(args[0])))
sys.addaudithook(audit)
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from pathlib import Path
from tests.unit.memories.histories import pack, planted
from tests.unit.memories.stores.extraction import Extraction
for model in (None, Extraction()):
    memory = resolve_memory(Condition.parse("mem0"), pack=pack(), embedder=default_embedder, stores=Path(stores),
                            memory_model=None if model is None else lambda: model)
    async def main():
        assert (await memory.context(planted(), "kidneys")).entries
        await memory.close()
    asyncio.run(main())
import mem0.memory.main, mem0.memory.telemetry
assert mem0.memory.telemetry.MEM0_TELEMETRY is False and mem0.memory.main.MEM0_TELEMETRY is False
assert mem0.memory.telemetry.client_telemetry.posthog is None
assert "MEM0_DIR" not in os.environ and "MEM0_TELEMETRY" not in os.environ
outside = [w for w in written if not w.startswith((stores, "/dev/")) and w != out]
quiet = connected == []
with socket.socket() as probe: probe.connect_ex(("127.0.0.1", 9))
trapped = len(connected) == 1 and any(w.endswith("history.db") for w in written)
with open(out, "w") as file: print("quiet" if quiet else connected, outside, "trapped" if trapped else "", file=file)
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
    assert out.read_text("utf-8").strip() == "quiet [] trapped"
    assert done.stdout == ""
    assert done.stderr == "", "the library's log stays out of the run's output"
    found = tree(tmp_path)
    assert {n for n in found if n.startswith(("home", "work", "tmp"))} == {"home", "work", "tmp"}
    assert "stores/mem0-home/config.json" in found, "what Mem0 writes on its own lies beside the stores"


KILLED = """
import asyncio, sys, time
from pathlib import Path
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack, planted
from tests.unit.memories.stores.extraction import Extraction
class Hangs(Extraction):
    async def reply(self, prompt):
        answer = await super().reply(prompt)
        if len(self.prompts) == 2:
            print("second", flush=True)
            await asyncio.sleep(60)
        return answer
memory = resolve_memory(Condition.parse("mem0"), pack=pack(), embedder=default_embedder, stores=Path(sys.argv[1]),
                        memory_model=Hangs)
asyncio.run(memory.context(planted(), "kidneys"))
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
    assert process.stdout.readline() == "second\n"
    process.kill()
    process.communicate()
    assert list(tmp_path.rglob("*.partial/store/index/*.json")), "something was half-written"
    model = Extraction()
    assert ask(make(model), planted(), KIDNEYS).notes == ("mem0@llm: 5 entries, 2 from the planted session",)
    assert len(model.prompts) == 3, "all but the first session, whose base was complete"


@pytest.mark.real
def test_a_dialogue_of_locomo_ledger_against_content(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    history = locomo(0)
    session_of = {t.id: s for s in history.sessions for t in s.turns}
    memory = make()
    started = time.perf_counter()
    first = ask(memory, history, KIDNEYS)
    built = time.perf_counter() - started
    checked = 0
    for turn in [t for s in history.sessions[::3] for t in s.turns[::5]]:
        for entry in ask(memory, history, turn.text).entries:
            session = session_of[entry.turns[0]]
            assert entry.sources == (session.id,)
            assert entry.date == session.date
            assert entry.text.startswith(next(t for t in session.turns if t.id == entry.turns[0]).speaker)
            checked += 1
    assert checked > 50
    assert exposure(first, history).exact is True
    started = time.perf_counter()
    again = replace(PLANTED, id="other-s")
    sessions = tuple(again if s.id == PLANTED.id else s for s in history.sessions)
    ask(memory, replace(history, sessions=sessions, planted=again.id), KIDNEYS)
    forked = time.perf_counter() - started
    with capsys.disabled():
        print(f"\nLoCoMo 0: {first.notes[0]}; base {built:.1f} s, fork and search {forked:.3f} s, {checked} checked")


@pytest.mark.real
def test_two_processes_at_once_share_one_base(make: Make, tmp_path: Path) -> None:
    script = KILLED.replace("if len(self.prompts) == 2:", "if False:") + "\nprint('done', flush=True)\n"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "stores")],
            cwd=ROOT,
            env=with_sources(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [p.communicate(timeout=120)[0] for p in processes] == ["done\n", "done\n"]
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
