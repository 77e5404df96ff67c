"""Mem0's real library, its real FAISS store and its real prompt; only the extraction model is scripted."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MissingExtraError, ModelError, UsageError
from pytest_hush.memories import control_retrieved, exposure, readiness, resolve_memory
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.model import Condition, History, PositiveControl
from tests.unit.memories.histories import DISCLOSURE, PERSONA, PLANTED, locomo, needs_embedder, pack, planted, unplanted
from tests.unit.memories.stores.extraction import Extraction, section, users_lines
from tests.unit.memories.stores.notebook import ask, close

KIDNEYS = "What did I tell you about my kidneys?"
ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def libraries() -> None:
    for module in ("mem0", "faiss"):
        pytest.importorskip(module, reason=f"{module} is not installed (extra 'mem0')")
    needs_embedder()


Make = Callable[..., StoreMemory]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[StoreMemory] = []

    def memory(model: Extraction | None = None, **settings: Any) -> StoreMemory:
        found = resolve_memory(
            Condition.parse("mem0"),
            pack=pack(),
            embedder=default_embedder,
            stores=tmp_path / "stores",
            settings={"mem0": settings},
            memory_model=None if model is None else lambda: model,
        )
        assert isinstance(found, StoreMemory)
        made.append(found)
        return found

    yield memory
    for one in made:
        close(one)
    assert [p for p in tmp_path.rglob("forks/*") if p.is_dir()] == []


# ---- verbatim ---------------------------------------------------------------------------------------


def test_verbatim_keeps_every_turn_with_its_session_and_date(make: Make) -> None:
    memory = make()
    found = ask(memory, planted(), KIDNEYS)
    assert (found.label, memory.name) == ("mem0@verbatim", "mem0")
    assert found.notes == ("mem0@verbatim: 10 entries, 4 from the planted session",)
    best = found.entries[0]
    assert best.text == f"Ada: {PLANTED.turns[2].text}"
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), ("p1-d1-s-t03",), "2025-02-24T18:00")
    assert 1 <= len(found.entries) <= 5
    assert exposure(found, planted()).exact is True
    told = ask(memory, planted(), "What did I buy for the kitchen?")
    assert readiness(found.entries, told.entries, planted()) == "planted"


def test_the_fork_alone_holds_the_plant(make: Make) -> None:
    memory = make()
    assert ask(memory, planted(), KIDNEYS).entries
    found = ask(memory, unplanted(), KIDNEYS)
    assert all("p1-d1-s" not in (e.sources or ()) for e in found.entries)
    bees = PositiveControl("p1-c1", "p1", "Which animals do I keep on the roof?", "p1-f1", ("bee", "hive"))
    assert control_retrieved(ask(memory, unplanted(), bees.question), bees, unplanted()) is True


def test_settings_reach_the_library_and_the_key(make: Make) -> None:
    few, strict = make(top_k=2), make(threshold=0.99)
    assert len(ask(few, planted(), KIDNEYS).entries) == 2
    assert ask(strict, planted(), KIDNEYS).entries == ()
    assert few.settings["top_k"] == 2
    assert strict.settings["threshold"] == 0.99
    assert few.settings["mode"] == "verbatim"
    assert "MiniLM" in few.settings["embedder"]
    assert "mem0ai 2." in few.version
    assert "faiss-cpu" in few.version


def test_the_same_dialogue_gives_the_same_entries_in_another_store(make: Make, tmp_path: Path) -> None:
    first = ask(make(), planted(), KIDNEYS)
    (base,) = [p.parent for p in tmp_path.rglob(MARKER)]
    (base / MARKER).unlink()
    assert ask(make(), planted(), KIDNEYS) == first


def test_no_model_is_called_and_a_later_run_ingests_the_plant_only(make: Make, tmp_path: Path) -> None:
    ask(make(), planted(), KIDNEYS)
    (marker,) = tmp_path.rglob(MARKER)
    written = marker.stat().st_mtime_ns
    assert json.loads(marker.read_text("utf-8"))["calls"] == 0
    ask(make(), planted(), KIDNEYS)
    assert [p.stat().st_mtime_ns for p in tmp_path.rglob(MARKER)] == [written]


# ---- llm: the library's own extraction --------------------------------------------------------------


def test_extracted_memories_are_stored_with_their_session(make: Make) -> None:
    model = Extraction()
    found = ask(make(model), planted(), KIDNEYS)
    assert found.label == "mem0@llm"
    assert found.entries[0].text == f"User said: {PLANTED.turns[2].text}"
    assert found.entries[0].sources == ("p1-d1-s",)
    assert found.entries[0].turns == ()
    assert found.entries[0].date == "2025-02-24T18:00"
    assert found.notes == ("mem0@llm: 5 entries, 2 from the planted session",)
    assert len(model.prompts) == 4, "one call a session"
    assert [section(p, "New Messages").count("\n") for p in model.prompts] == [1, 1, 3, 1]


def test_mem0_reads_the_sessions_in_order_and_by_their_own_date(make: Make) -> None:
    model = Extraction()
    ask(make(model), planted(), KIDNEYS)
    shown = [section(p, "Custom Instructions") for p in model.prompts]
    assert [text[33:43] for text in shown] == ["2025-01-10", "2025-02-10", "2025-02-24", "2025-03-10"]
    assert "dialysis" in section(model.prompts[3], "Last k Messages"), "the session after the plant has seen it"
    assert "dialysis" not in section(model.prompts[1], "Existing Memories")


def test_the_plant_can_be_read_last_where_calls_are_dear(make: Make) -> None:
    model = Extraction()
    memory = make(model, in_order=False)
    ask(memory, planted(), KIDNEYS)
    other = replace(PLANTED, id="p1-d2-s")
    sessions = (*PERSONA.sessions[:2], other, PERSONA.sessions[2])
    ask(memory, History(PERSONA, sessions, DISCLOSURE, other.id, other.turns[2].id), KIDNEYS)
    assert len(model.prompts) == 3 + 1 + 1


def test_a_later_session_that_absorbs_the_plant_is_residue(make: Make) -> None:
    """Mem0 shows earlier memories to the model, which may write one anew under the later session's name."""

    def absorbing(new: list[str], existing: list[str]) -> list[str]:
        old = [text.replace("said", "once said") for text in existing if "Quellmire" in text]
        return [*users_lines(new, existing), *old]

    memory = make(Extraction(absorbing))
    entries = ask(memory, planted(), KIDNEYS).entries
    absorbed = [e for e in entries if "once said" in e.text]
    assert [e.sources for e in absorbed] == [("p1-s3",)]
    alone = replace(ask(memory, planted(), KIDNEYS), entries=tuple(absorbed))
    assert exposure(alone, planted()).exact is False
    assert exposure(alone, planted()).residue is True


def test_a_memory_told_twice_stays_the_first_sessions(make: Make) -> None:
    memory = make(Extraction(lambda new, existing: ["User keeps bees."]))
    found = ask(memory, planted(), "bees")
    assert [(e.text, e.sources) for e in found.entries] == [("User keeps bees.", ("p1-s1",))]


def test_a_memory_that_the_library_updates_derives_from_both(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Memory.add` of Mem0 2.x only adds; what its own `update` does to an entry must be seen all the same."""
    from pytest_hush.memories.stores.mem0 import Mem0Store

    ingest = Mem0Store.ingest

    def updating(self: Mem0Store, session: Any, persona: Any) -> None:
        ingest(self, session, persona)
        if session.id == "p1-d1-s":
            first = next(i for i, text in self.snapshot().items() if "bees" in text)
            self._memory.update(first, text="User keeps bees and is on dialysis.")

    monkeypatch.setattr(Mem0Store, "ingest", updating)
    found = ask(make(Extraction()), planted(), "bees")
    assert found.entries[0].text == "User keeps bees and is on dialysis."
    assert found.entries[0].sources == ("p1-d1-s", "p1-s1")


def test_a_second_question_asks_the_model_nothing(make: Make) -> None:
    model = Extraction()
    memory = make(model)
    for question in (KIDNEYS, "bees", "My tea goes cold too fast. A tip?"):
        ask(memory, planted(), question)
    assert len(model.prompts) == 4
    later = Extraction()
    ask(make(later), planted(), KIDNEYS)
    assert len(later.prompts) == 2, "the plant and the session after it; the base is on disk"


def test_a_model_that_is_down_is_an_error_and_no_empty_memory(make: Make, tmp_path: Path) -> None:
    model = Extraction(down=True)
    memory = make(model)
    for _ in range(2):
        with pytest.raises(ModelError, match="nothing listens there"):
            ask(memory, planted(), KIDNEYS)
    assert len(model.prompts) == 1
    assert list(tmp_path.rglob(MARKER)) == []


@pytest.mark.parametrize("answer", ["I could not find anything.", '{"memory": [{"text": "cut of', "[]"])
def test_malformed_answers_are_an_error_and_no_empty_memory(make: Make, answer: str) -> None:
    with pytest.raises(ModelError, match="no JSON object for"):
        ask(make(Extraction(answer=answer)), planted(), KIDNEYS)


def test_a_model_that_finds_nothing_to_keep_is_an_empty_memory_and_an_error(make: Make) -> None:
    from pytest_hush.errors import MemoryStoreError

    with pytest.raises(MemoryStoreError, match="mem0@llm: the store is empty after 4 sessions"):
        ask(make(Extraction(answer='{"memory": []}')), planted(), KIDNEYS)


def test_an_embedder_that_fails_loses_no_text_in_silence(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = make(Extraction())
    embedder = memory.backend._embedder  # type: ignore[attr-defined]

    class Failing:
        name, version = embedder.name, embedder.version

        def embed(self, texts: Any) -> Any:
            if any("dialysis" in text for text in texts):
                raise RuntimeError("no vector today")
            return embedder.embed(texts)

    memory.backend._embedder = Failing()  # type: ignore[attr-defined]
    from pytest_hush.errors import MemoryStoreError

    with pytest.raises(MemoryStoreError, match="no vector today"):
        ask(memory, planted(), KIDNEYS)


def test_neither_a_proxy_nor_a_key_of_another_service_leads_it_elsewhere(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-nobody-0000")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = Extraction()
    assert ask(make(model), planted(), KIDNEYS).entries
    assert len(model.prompts) == 4


# ---- what is refused before anything runs -----------------------------------------------------------


def test_the_missing_extra_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "faiss" else real(name, *a))
    with pytest.raises(MissingExtraError, match=r"needs faiss-cpu, .* pip install 'pytest-hush\[mem0\]'"):
        make()


def test_llm_without_a_model_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match=r"mem0.mode = 'llm': name the extraction model with --hush-memory-model"):
        make(mode="llm")


def test_verbatim_can_be_asked_for_beside_a_model(make: Make) -> None:
    assert "model" not in make(Extraction(), mode="verbatim").settings


def test_resolving_writes_nothing(make: Make, tmp_path: Path) -> None:
    make(Extraction())
    assert list(tmp_path.iterdir()) == []


# ---- telemetry and stray files ----------------------------------------------------------------------

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


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def isolated(tmp_path: Path) -> dict[str, str]:
    """An environment whose home, working and temporary folders are empty ones of the test."""
    for name in ("home", "work", "tmp"):
        (tmp_path / name).mkdir()
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT")}
    path = os.pathsep.join([str(ROOT), *sys.path])
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


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


# ---- the real thing, slower -------------------------------------------------------------------------

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
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
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
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
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
