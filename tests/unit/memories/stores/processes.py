"""What the tests of a library in processes of its own share: a trap for what it sends and writes, a kill in mid-ingest,
two processes at once, and a whole dialogue.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from pytest_hush.memories import exposure
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.model import Turn
from tests.unit.memories.histories import PLANTED, locomo
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, ROOT, isolated, with_sources

IMPORTS = """
import asyncio, os, socket, sys
from pathlib import Path
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack, planted
"""

TRAP = """
import os, sys
connected, written = [], []
stores, out = sys.argv[1], sys.argv[2]
TARGETS = {"socket.connect": 1, "socket.bind": 1, "socket.sendto": 1, "socket.getaddrinfo": 0,
           "socket.gethostbyname": 0, "subprocess.Popen": 0}
def audit(event, args):
    if event in TARGETS: connected.append(f"{event} {args[TARGETS[event]]}")
    elif event == "open" and isinstance(args[0], (str, bytes, os.PathLike)) and (
        isinstance(args[1], str) and set(args[1]) & set("wax+")
        or isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        written.append(os.path.abspath(os.fsdecode(args[0])))
    elif event in ("os.mkdir", "sqlite3.connect", "os.rename"): written.append(os.path.abspath(os.fsdecode(args[0])))
sys.addaudithook(audit)
before = dict(os.environ)
"""
"""Comes before all imports. What is connected to or started is in `connected`, what is written to in `written`."""

ASKED = """
for model in MODELS:
    memory = resolve_memory(Condition.parse(SYSTEM), pack=pack(), embedder=default_embedder, stores=Path(stores),
                            memory_model=None if model is None else lambda: model, settings=SETTINGS)
    async def main():
        assert (await memory.context(planted(), "kidneys")).entries
        await memory.close()
    asyncio.run(main())
"""

CAUGHT = """
# urllib3 finds out by a bind whether there is IPv6.
strangers = [c for c in connected if not (LOOPBACK and "127.0.0.1" in c) and c != "socket.bind ('::1', 0)"]
outside = [w for w in written if not w.startswith((stores, "/dev/")) and w != out]
count = len(connected)
with socket.socket() as probe: probe.connect_ex(("127.0.0.1", 9))
trapped = len(connected) == count + 1 and any(w.startswith(stores) for w in written)
with open(out, "w") as file: print(strangers, outside, "trapped" if trapped else "", file=file)
"""


def caught(
    system: str,
    models: str,
    checks: str,
    tmp_path: Path,
    *,
    settings: str = "None",
    loopback: bool = False,
    files: Mapping[str, str] = MappingProxyType({}),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """What a process sent to strangers and wrote outside its stores while the library `system` was asked with each of
    `models`, and a last word that proves the trap. It prints nothing.

    `models` is code that sets MODELS; `checks` is run at the end; `loopback`: it may talk to itself. `files` lie in its
    working folder.
    """
    surroundings = {**isolated(tmp_path), **environment}
    for name, text in files.items():
        (tmp_path / "work" / name).write_text(text, encoding="utf-8")
    setting = f"SYSTEM, SETTINGS, LOOPBACK = {system!r}, {settings}, {loopback}\n"
    out = tmp_path / "out"
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            "".join([TRAP, IMPORTS, models, "\n", setting, ASKED, checks, CAUGHT]),
            str(tmp_path / "stores"),
            str(out),
        ],
        cwd=tmp_path / "work",
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", ""), "what the library prints and logs stays out of the run's output"
    return out.read_text("utf-8").strip()


NOTHING = "[] [] trapped"
"""What `caught` tells of a library that keeps to its stores."""


def hanging(system: str, model: str, at: int, history: str = "planted()") -> str:
    """A script that asks the library with a model (the class `model`, as MODULE:NAME) which hangs at its answer `at`.

    0: it never hangs. What is ready is printed.
    """
    module, _, name = model.partition(":")
    return f"""{IMPORTS}
from tests.unit.memories.stores.memu_histories import SIX
from {module} import {name}
class Hangs({name}):
    async def reply(self, prompt):
        answer = await super().reply(prompt)
        if len(self.prompts) == {at}:
            print("hanging", flush=True)
            await asyncio.sleep(60)
        return answer
memory = resolve_memory(Condition.parse({system!r}), pack=pack(), embedder=default_embedder, stores=Path(sys.argv[1]),
                        memory_model=Hangs)
asyncio.run(memory.context({history}, "kidneys"))
print("done", flush=True)
"""


def started(script: str, tmp_path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "stores")],
        cwd=ROOT,
        env=with_sources(),
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_in_mid_ingest(script: str, tmp_path: Path, half_written: str) -> None:
    """Kill the process of a `hanging` script once it hangs. `half_written`: a glob below the folder of the base."""
    process = started(script, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    process.kill()
    process.communicate()
    assert list(tmp_path.rglob(f"*.partial/store/{half_written}")), "something was half-written"


def both_done(script: str, tmp_path: Path) -> None:
    """Run the script in two processes at once, to their ends."""
    processes = [started(script, tmp_path) for _ in range(2)]
    assert [p.communicate(timeout=120)[0] for p in processes] == ["done\n", "done\n"]


def check_a_dialogue(memory: StoreMemory, opening: Callable[[Turn], str], capsys: pytest.CaptureFixture[str]) -> None:
    """Entries of a LoCoMo dialogue against the ledger; `opening` is how the entry of a turn begins."""
    history = locomo(0)
    session_of = {t.id: s for s in history.sessions for t in s.turns}
    began = time.perf_counter()
    first = ask(memory, history, KIDNEYS)
    built = time.perf_counter() - began
    checked, asked, began = 0, 0, time.perf_counter()
    for turn in [t for s in history.sessions[::3] for t in s.turns[::5]]:
        asked += 1
        for entry in ask(memory, history, turn.text).entries:
            session = session_of[entry.turns[0]]
            assert entry.sources == (session.id,)
            assert entry.date == session.date
            assert entry.text.startswith(opening(next(t for t in session.turns if t.id == entry.turns[0])))
            checked += 1
    searched = (time.perf_counter() - began) / asked
    assert checked > 50
    assert exposure(first, history).exact is True
    began = time.perf_counter()
    again = replace(PLANTED, id="other-s")
    sessions = tuple(again if s.id == PLANTED.id else s for s in history.sessions)
    ask(memory, replace(history, sessions=sessions, planted=again.id), KIDNEYS)
    forked = time.perf_counter() - began
    with capsys.disabled():
        print(
            f"\nLoCoMo 0: {first.notes[0]}; base {built:.1f} s, fork and search {forked:.3f} s, "
            f"search {searched:.3f} s, {checked} checked"
        )
