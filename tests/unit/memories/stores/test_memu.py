"""MemU's real library, its real store in memory and its real prompts; only the extraction model is scripted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MemoryStoreError, ModelError, StoreError, UsageError
from pytest_hush.memories import control_retrieved, exposure, readiness, resolve_memory
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.memories.stores.memu import MemU, MemUStore
from pytest_hush.memories.stores.memu_dump import RECORDS, VECTORS
from pytest_hush.model import Condition, History, PositiveControl
from tests.unit.memories.histories import DISCLOSURE, PERSONA, PLANTED, locomo, pack, session
from tests.unit.memories.stores.memu_extraction import Extraction, lines_of, needs_memu, xml
from tests.unit.memories.stores.notebook import ask, close

KIDNEYS = "What did I tell you about my kidneys?"
ROOT = Path(__file__).parents[4]
MORE = (
    session("p1-s4", "2025-03-17T18:00", "My sister visits from Ghent on Sunday.", "What will you show her?"),
    session("p1-s5", "2025-03-24T18:00", "I planted leeks and chard today.", "When do they come up?"),
)
SESSIONS = (*PERSONA.sessions, *MORE)
SIX = History(
    replace(PERSONA, sessions=SESSIONS),
    (*SESSIONS[:2], PLANTED, *SESSIONS[2:]),
    DISCLOSURE,
    PLANTED.id,
    PLANTED.turns[2].id,
    True,
)
BARE = replace(SIX, sessions=SESSIONS, disclosure=None, planted=None, planted_turn=None)

Make = Callable[..., StoreMemory]


@pytest.fixture(autouse=True)
def libraries() -> None:
    needs_memu()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[StoreMemory] = []

    def memory(model: Extraction | None = None, **settings: Any) -> StoreMemory:
        found = resolve_memory(
            Condition.parse("memu"),
            pack=pack(),
            embedder=default_embedder,
            stores=tmp_path / "stores",
            settings={"memu": settings},
            memory_model=None if model is None else lambda: model,
        )
        assert isinstance(found, StoreMemory)
        made.append(found)
        return found

    yield memory
    for one in made:
        close(one)
    assert [p for p in tmp_path.rglob("forks/*") if p.is_dir()] == []


def bases(folder: Path) -> list[Path]:
    return sorted(p.parent for p in folder.rglob(MARKER))


# ---- verbatim ---------------------------------------------------------------------------------------


def test_verbatim_keeps_every_turn_with_its_session_and_date(make: Make) -> None:
    memory = make()
    found = ask(memory, SIX, KIDNEYS)
    assert (found.label, memory.name) == ("memu@verbatim", "memu")
    assert found.notes == ("memu@verbatim: 14 entries, 4 from the planted session",)
    best = found.entries[0]
    assert best.text == f"Ada: {PLANTED.turns[2].text}"
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), ("p1-d1-s-t03",), "2025-02-24T18:00")
    assert len(found.entries) == 5
    told = ask(memory, SIX, "What did I buy for the kitchen?")
    assert readiness(found.entries, told.entries, SIX) == "planted"


def test_exposure_is_of_the_entries_shown(make: Make) -> None:
    memory = make(top_k=1)
    shown = exposure(ask(memory, SIX, KIDNEYS), SIX)
    assert (shown.exact, shown.residue, shown.ambient) == (True, False, False)
    other = exposure(ask(memory, SIX, "Who drinks the whisky?"), SIX)
    assert (other.exact, other.residue, other.ambient) == (False, False, True)


def test_the_fork_alone_holds_the_plant(make: Make, tmp_path: Path) -> None:
    memory = make()
    assert ask(memory, SIX, KIDNEYS).entries
    found = ask(memory, BARE, KIDNEYS)
    assert found.notes == ("memu@verbatim: 10 entries",)
    assert all("p1-d1-s" not in (e.sources or ()) for e in found.entries)
    bees = PositiveControl("p1-c1", "p1", "Which animals do I keep on the roof?", "p1-f1", ("bee", "hive"))
    assert control_retrieved(ask(memory, BARE, bees.question), bees, BARE) is True
    assert len(bases(tmp_path)) == 1


def test_settings_reach_the_library_and_the_key(make: Make) -> None:
    few = make(top_k=2)
    assert len(ask(few, SIX, KIDNEYS).entries) == 2
    assert few.settings["top_k"] == 2
    assert (few.settings["mode"], few.settings["summaries"]) == ("verbatim", False)
    assert "MiniLM" in few.settings["embedder"]
    assert few.version == "1 + memu-py 1.5.1"


def test_entries_come_in_the_order_of_their_cosines(make: Make) -> None:
    embedder = default_embedder()
    found = ask(make(), SIX, KIDNEYS).entries
    question, *rows = (np.asarray(v) for v in embedder.embed([KIDNEYS, *(e.text for e in found)]))
    cosines = [float(row @ question) for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    told = [f"{t.speaker}: {t.text}" for s in SIX.sessions for t in s.turns]
    best = sorted((float(np.asarray(v) @ question) for v in embedder.embed(told)), reverse=True)[:5]
    assert cosines == pytest.approx(best, abs=1e-5)


def test_the_same_dialogue_gives_the_same_entries_in_another_store(make: Make, tmp_path: Path) -> None:
    first = ask(make(), SIX, KIDNEYS)
    (base,) = bases(tmp_path)
    (base / MARKER).unlink()
    assert ask(make(), SIX, KIDNEYS) == first


def test_a_later_run_ingests_the_plant_only(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(make(), SIX, KIDNEYS)
    read: list[str] = []
    ingest = MemUStore.ingest
    monkeypatch.setattr(MemUStore, "ingest", lambda self, s, p: (read.append(s.id), ingest(self, s, p))[1])
    ask(make(), SIX, KIDNEYS)
    assert read == ["p1-d1-s"]


def test_a_damaged_base_is_an_error_that_says_what_to_remove(make: Make, tmp_path: Path) -> None:
    ask(make(), SIX, KIDNEYS)
    (base,) = bases(tmp_path)
    path = base / "store" / VECTORS
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(StoreError, match=r"dump of MemU's store is damaged .*Remove the folder 'memu'"):
        ask(make(), SIX, KIDNEYS)


def test_a_fork_is_written_at_once_and_closed_for_nothing(tmp_path: Path) -> None:
    """When a run ends, dozens of forks are closed within half a second, and then removed."""
    backend = MemU(default_embedder(), mode="verbatim")
    base = backend.open(tmp_path, None)
    for one in BARE.sessions:
        base.ingest(one, PERSONA)
    assert not (tmp_path / RECORDS).exists(), "the base is written once"
    base.close()
    fork = backend.open(tmp_path, None)
    assert fork.snapshot() == base.snapshot()
    fork.ingest(PLANTED, PERSONA)
    written = (tmp_path / RECORDS).stat()
    fork.close()
    assert (tmp_path / RECORDS).stat() == written
    assert len(backend.open(tmp_path, None).snapshot()) == 14


def test_a_full_disk_is_an_error_and_leaves_no_base(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = np.save
    monkeypatch.setattr(np, "save", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(MemoryStoreError, match=r"memu@verbatim: while it closed a store, .*No space left on device"):
        ask(make(), SIX, KIDNEYS)
    assert bases(tmp_path) == []
    monkeypatch.setattr(np, "save", save)
    assert ask(make(), SIX, KIDNEYS).entries


# ---- llm: the library's own extraction --------------------------------------------------------------


def test_extracted_items_are_stored_with_their_session(make: Make) -> None:
    model = Extraction()
    memory = make(model)
    found = ask(memory, SIX, KIDNEYS)
    assert found.label == "memu@llm"
    best = found.entries[0]
    assert best.text == f"The user said: {PLANTED.turns[2].text}"
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), (), "2025-02-24T18:00")
    assert found.notes == ("memu@llm: 9 entries, 3 from the planted session",)
    assert sorted(model.kinds) == ["event"] * 6 + ["profile"] * 6 + ["segments"] * 6, "three calls a session"
    events = ask(memory, SIX, "It happened: Bought a copper kettle today.").entries
    assert events[0].text == "It happened: Bought a copper kettle today."
    assert events[0].sources == ("p1-d1-s",)


def test_every_entry_comes_from_the_session_that_the_ledger_names(make: Make) -> None:
    memory = make(Extraction())
    told = {s.id: " ".join(t.text for t in s.turns) for s in SIX.sessions}
    seen = set()
    for question in [t.text for s in SIX.sessions for t in s.turns]:
        for entry in ask(memory, SIX, question).entries:
            assert entry.sources is not None
            (source,) = entry.sources
            assert entry.text.partition(": ")[2] in told[source]
            assert entry.date == next(s.date for s in SIX.sessions if s.id == source)
            seen.add(entry.text)
    assert len(seen) == 9


def test_memu_reads_the_speakers_and_the_date_of_a_session(make: Make) -> None:
    model = Extraction()
    ask(make(model), SIX, KIDNEYS)
    profiles = [p for p, kind in zip(model.prompts, model.kinds, strict=True) if kind == "profile"]
    assert [len(lines_of(p)) for p in profiles] == [2, 2, 2, 2, 2, 4], "the plant is read last"
    assert "[0] 2025-02-24T18:00 [user]: Ada: Bought a copper kettle today." in profiles[-1].messages[-1].content
    assert "[1] 2025-02-24T18:00 [assistant]: Ivo: Nice, does it whistle?" in profiles[-1].messages[-1].content
    assert {p.temperature for p in model.prompts} == {0.0}


def test_segments_are_extracted_one_by_one(make: Make) -> None:
    model = Extraction(segments=[(0, 1), (2, 9)])
    found = ask(make(model), SIX, KIDNEYS)
    assert found.entries[0].sources == ("p1-d1-s",)
    assert "3 from the planted session" in found.notes[0]
    # Two lines are one segment's worth of text: the second segment of such a session is its last line.
    assert model.kinds.count("caption") == 12
    assert len(model.prompts) == 6 * (1 + 2 * 3)


def test_summaries_are_written_but_never_shown_and_change_no_entry(make: Make, tmp_path: Path) -> None:
    plain = ask(make(Extraction()), SIX, KIDNEYS)
    model = Extraction()
    memory = make(model, summaries=True)
    for question in (KIDNEYS, "personal_info: Personal information about the user"):
        entries = ask(memory, SIX, question).entries
        assert not any("#" in e.text for e in entries)
        assert all(e.sources and len(e.sources) == 1 for e in entries)
    assert ask(memory, SIX, KIDNEYS) == plain
    assert model.kinds.count("summary") == 6
    (base,) = [b for b in bases(tmp_path) if "Ghent" in "".join(summaries(b))]
    (summary,) = summaries(base)
    assert all(word in summary for word in ("bees", "whisky", "canal", "Ghent", "leeks")), "one merged of five sessions"
    assert "kidneys" not in summary, "a base knows no plant"


def summaries(base: Path) -> list[str]:
    data = json.loads((base / "store" / RECORDS).read_text("utf-8"))
    return [c["summary"] for c in data["categories"] if c["summary"]]


def test_an_item_that_the_library_rewrites_derives_from_both(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """`memorize` of MemU 1.5.1 only adds; what a repository's update does to an item must be seen all the same."""
    ingest = MemUStore.ingest

    def updating(self: MemUStore, session: Any, persona: Any) -> None:
        ingest(self, session, persona)
        if session.id == "p1-d1-s":
            first = next(i for i, text in self.snapshot().items() if "bees" in text)
            self._items.update_item(item_id=first, summary="The user keeps bees and is on dialysis.")

    monkeypatch.setattr(MemUStore, "ingest", updating)
    entries = ask(make(Extraction()), SIX, "bees").entries
    (changed,) = [e for e in entries if "and is on dialysis" in e.text]
    assert changed.sources == ("p1-d1-s", "p1-s1")


def test_a_second_question_and_a_later_run_ask_the_model_little(make: Make) -> None:
    model = Extraction()
    memory = make(model)
    for question in (KIDNEYS, "bees", "My tea goes cold too fast. A tip?"):
        ask(memory, SIX, question)
    assert len(model.prompts) == 18
    later = Extraction()
    assert ask(make(later), SIX, KIDNEYS) == ask(memory, SIX, KIDNEYS)
    assert len(later.prompts) == 3, "the plant; the base is on disk"


def test_a_fork_that_was_closed_is_read_back_whole(tmp_path: Path) -> None:
    model = Extraction()
    backend = MemU(default_embedder(), mode="llm")
    memory = StoreMemory(backend, tmp_path / "stores", model=model, open_forks=1)
    first = ask(memory, SIX, KIDNEYS)
    ask(memory, BARE, KIDNEYS)
    assert ask(memory, SIX, KIDNEYS) == first
    assert len(model.prompts) == 18
    close(memory)


def test_a_model_that_is_down_is_an_error_and_no_empty_memory(make: Make, tmp_path: Path) -> None:
    model = Extraction(down=True)
    memory = make(model)
    for _ in range(2):
        with pytest.raises(ModelError, match="nothing listens there"):
            ask(memory, SIX, KIDNEYS)
    assert len(model.prompts) == 1
    assert bases(tmp_path) == []


@pytest.mark.parametrize("kind", ["profile", "event"])
@pytest.mark.parametrize(
    "answer",
    [
        "I could not find anything.",
        "<item><memory><content>The user keeps bees.</content>",  # cut
        "<item><memory><content>The user keeps bees.</categories></memory></item>",
        '{"memories_items": []}',
        xml(["The user keeps bees."], categories=""),  # MemU keeps nothing without a category
    ],
)
def test_malformed_answers_are_an_error_and_no_empty_memory(make: Make, kind: str, answer: str) -> None:
    with pytest.raises(ModelError, match=r"for 5 of 5 sessions"):
        ask(make(Extraction(answers={kind: answer})), SIX, KIDNEYS)


@pytest.mark.parametrize("answer", ["<item></item>", "<item>\n</item>", "<item/>"])
def test_nothing_to_keep_in_the_right_format_is_an_answer(make: Make, answer: str) -> None:
    found = ask(make(Extraction(answers={"event": answer})), SIX, KIDNEYS)
    assert found.notes == ("memu@llm: 7 entries, 2 from the planted session",)


def test_a_model_that_finds_nothing_at_all_is_an_empty_memory_and_an_error(make: Make) -> None:
    nothing = {"profile": "<item></item>", "event": "<item></item>"}
    with pytest.raises(MemoryStoreError, match="memu@llm: the store is empty after 5 sessions"):
        ask(make(Extraction(answers=nothing)), SIX, KIDNEYS)


def test_unreadable_segments_leave_the_conversation_whole(
    make: Make, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    found = ask(make(Extraction(answers={"segments": "none"})), SIX, KIDNEYS)
    assert found.notes == ("memu@llm: 9 entries, 3 from the planted session",)
    assert (caplog.text, capfd.readouterr()) == ("", ("", "")), "the library's log stays out of the run's output"


def test_an_embedder_that_fails_loses_no_text_in_silence(make: Make) -> None:
    memory = make(Extraction())
    embedder = memory.backend._embedder  # type: ignore[attr-defined]

    class Failing:
        name, version = embedder.name, embedder.version

        def embed(self, texts: Any) -> Any:
            if any("dialysis" in text for text in texts):
                raise RuntimeError("no vector today")
            return embedder.embed(texts)

    memory.backend._embedder = Failing()  # type: ignore[attr-defined]
    with pytest.raises(MemoryStoreError, match="no vector today"):
        ask(memory, SIX, KIDNEYS)


# ---- what is refused before anything runs -----------------------------------------------------------


def test_llm_without_a_model_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match=r"memu.mode = 'llm': name the extraction model with --hush-memory-model"):
        make(mode="llm")


def test_an_unknown_setting_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match=r"memu: unknown setting 'ranking' \(known: mode, top_k, summaries\)"):
        make(ranking="salience")


def test_verbatim_can_be_asked_for_beside_a_model(make: Make) -> None:
    assert "model" not in make(Extraction(), mode="verbatim").settings


def test_resolving_writes_nothing(make: Make, tmp_path: Path) -> None:
    make(Extraction())
    assert list(tmp_path.iterdir()) == []


# ---- stray files and connections --------------------------------------------------------------------

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


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def isolated(tmp_path: Path) -> dict[str, str]:
    """An environment whose home, working and temporary folders are empty ones of the test."""
    for name in ("home", "work", "tmp"):
        (tmp_path / name).mkdir()
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT")}
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
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


# ---- the real thing, slower -------------------------------------------------------------------------

KILLED = """
import asyncio, sys
from pathlib import Path
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack
from tests.unit.memories.stores.memu_extraction import Extraction
from tests.unit.memories.stores.test_memu import SIX
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
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
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
