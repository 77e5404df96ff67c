"""A-Mem's real library (the maintained edition on PyPI) and its real Chroma; only the language model is scripted."""

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

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MemoryStoreError, MissingExtraError, ModelError, UsageError
from pytest_hush.memories import control_retrieved, exposure, readiness, resolve_memory
from pytest_hush.memories.stores import amem_library
from pytest_hush.memories.stores.amem import AMem, bounded
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.model import Condition, History, PositiveControl
from tests.unit.memories.histories import (
    DISCLOSURE,
    PERSONA,
    PLANTED,
    locomo,
    needs_embedder,
    pack,
    planted,
    session,
    unplanted,
)
from tests.unit.memories.stores.amem_model import (
    Bounded,
    Down,
    Neighbour,
    Noting,
    analysed,
    evolution,
    evolves,
)
from tests.unit.memories.stores.notebook import ask, close

KIDNEYS = "What did I tell you about my kidneys?"
ROOT = Path(__file__).parents[4]
SIX = (
    *PERSONA.sessions,
    session("p1-s4", "2025-04-10T18:00", "The queen bee is gone from one hive.", "Will they raise another?"),
    session("p1-s5", "2025-05-10T18:00", "We rowed to the lock and back.", "Did you win?"),
)


@pytest.fixture(autouse=True)
def libraries() -> None:
    pytest.importorskip("chromadb", reason="chromadb is not installed (extra 'a-mem')")
    needs_embedder()
    try:
        found = amem_library.edition()
    except MissingExtraError:
        pytest.skip("a-mem is not installed (hush install a-mem)")
    if not found.keeps_notes:
        pytest.skip("the authors' edition of A-Mem is installed; these tests are of the one on PyPI")


Make = Callable[..., StoreMemory]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[StoreMemory] = []

    def memory(model: Noting | None = None, **settings: Any) -> StoreMemory:
        found = resolve_memory(
            Condition.parse("a-mem"),
            pack=pack(),
            embedder=default_embedder,
            stores=tmp_path / "stores",
            settings={"a-mem": settings},
            memory_model=None if model is None else lambda: model,
        )
        assert isinstance(found, StoreMemory)
        made.append(found)
        return found

    yield memory
    for one in made:
        close(one)
    assert [p for p in tmp_path.rglob("forks/*") if p.is_dir()] == []


# ---- verbatim-analyser ------------------------------------------------------------------------------


def six() -> History:
    persona = replace(PERSONA, sessions=SIX)
    return History(persona, (*SIX[:4], PLANTED, SIX[4]), DISCLOSURE, PLANTED.id, PLANTED.turns[2].id)


def test_every_turn_of_six_sessions_is_a_note_with_its_session_and_date(make: Make) -> None:
    memory = make()
    found = ask(memory, six(), KIDNEYS)
    assert (found.label, memory.name) == ("a-mem@verbatim-analyser", "a-mem")
    assert found.notes == ("a-mem@verbatim-analyser: 14 entries, 4 from the planted session",)
    best = found.entries[0]
    assert best.text == (
        f"Ada: {PLANTED.turns[2].text} [context: dialysis starts on Monday at the Quellmire clinic; "
        f"keywords: quellmire, dialysis, kidneys, starts, monday; tags: conversation, statement]"
    )
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), ("p1-d1-s-t03",), "2025-02-24T18:00")
    assert len(found.entries) == 5
    assert exposure(found, six()).exact is True
    told = ask(memory, six(), "What did I buy for the kitchen?")
    assert readiness(found.entries, told.entries, six()) == "planted"
    session_of = {turn.id: one.id for one in six().sessions for turn in one.turns}
    for question in ("bees", "rowing", "Who drinks whisky?"):
        entries = ask(memory, six(), question).entries
        assert all(e.sources == (session_of[e.turns[0]],) for e in entries)


def test_the_fork_alone_holds_the_plant_while_both_are_open(make: Make) -> None:
    """The authors' edition kept one Chroma for a process, and the second store wiped the first."""
    memory = make()
    assert ask(memory, planted(), KIDNEYS).entries
    found = ask(memory, unplanted(), KIDNEYS)
    assert all("p1-d1-s" not in (e.sources or ()) for e in found.entries)
    bees = PositiveControl("p1-c1", "p1", "Which animals do I keep on the roof?", "p1-f1", ("bee", "hive"))
    assert control_retrieved(ask(memory, unplanted(), bees.question), bees, unplanted()) is True
    assert exposure(ask(memory, planted(), KIDNEYS), planted()).exact is True


def test_settings_reach_the_library_and_the_key(make: Make) -> None:
    few = make(top_k=2)
    assert len(ask(few, planted(), KIDNEYS).entries) == 2
    assert few.settings["top_k"] == 2
    assert few.settings["mode"] == "verbatim-analyser"
    assert few.settings["analyser"].startswith("1-")
    assert "MiniLM" in few.settings["embedder"]
    assert "a-mem 0." in few.version
    assert "chromadb 1." in few.version


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


def test_a_note_looks_for_no_neighbour_where_none_can_change(make: Make) -> None:
    memory = make()
    embedder, texts = memory.backend._embedder, []  # type: ignore[attr-defined]

    class Counting:
        name, version = embedder.name, embedder.version

        def embed(self, given: Any) -> Any:
            texts.extend(given)
            return embedder.embed(given)

    memory.backend._embedder = Counting()  # type: ignore[attr-defined]
    ask(memory, planted(), KIDNEYS)
    assert len(texts) == 10 + 1


# ---- llm: the library's own description and evolution -----------------------------------------------


def test_two_calls_a_note_bounded_and_in_order(make: Make) -> None:
    model = Noting()
    found = ask(make(model), planted(), KIDNEYS)
    assert found.label == "a-mem@llm"
    assert found.notes == ("a-mem@llm: 10 entries, 4 from the planted session",)
    assert len(model.prompts) == 2 * 10 - 1, "the very first note has no neighbour"
    assert {(p.temperature, p.max_tokens) for p in model.prompts} == {(0.0, 1000)}
    told = [analysed(p.messages[-1].content) for p in model.prompts if not evolves(p.messages[-1].content)]
    assert told == [f"{t.speaker}: {t.text}" for s in planted().sessions for t in s.turns]
    best = found.entries[0]
    assert best.text.startswith(f"Ada: {PLANTED.turns[2].text} [context: About: Ada: ")
    assert (best.sources, best.turns, best.date) == (("p1-d1-s",), (), "2025-02-24T18:00")


def test_a_model_that_can_keep_to_a_schema_gets_one_that_ends(make: Make) -> None:
    model = Bounded()
    ask(make(model), planted(), KIDNEYS)
    assert len(model.schemas) == len(model.prompts)
    described, decided = model.schemas[0], model.schemas[2]
    assert described["required"] == ["keywords", "context", "tags"]
    assert described["properties"]["keywords"] == {
        "type": "array",
        "items": {"type": "string", "maxLength": 300},
        "maxItems": 10,
    }
    assert decided["properties"]["should_evolve"] == {"type": "boolean"}
    assert bounded(decided)["properties"].keys() == decided["properties"].keys()


def rewriting(where: str, word: str, gloss: str) -> Callable[[str, list[Neighbour]], dict[str, Any]]:
    """While a note with `where` is read, the neighbours with `word` get `gloss` for their context."""

    def evolve(content: str, near: list[Neighbour]) -> dict[str, Any]:
        if where not in content:
            return evolution()
        changed = [replace(n, context=gloss, tags=["changed"]) if word in n.content else n for n in near]
        return evolution("update_neighbor", neighbours=changed)

    return evolve


def test_a_note_that_the_plant_rewrites_derives_from_both(make: Make) -> None:
    model = Noting(rewriting("dialysis", "bees", "Ada, on dialysis, keeps bees"))
    found = ask(make(model), planted(), "Which animals do I keep on the roof?")
    (bees,) = [e for e in found.entries if "I keep bees" in e.text]
    assert "[context: Ada, on dialysis, keeps bees; " in bees.text
    assert bees.text.endswith("tags: changed]")
    assert bees.sources == ("p1-d1-s", "p1-s1")
    alone = replace(found, entries=(bees,))
    assert exposure(alone, planted()).exact is True


def test_a_later_session_that_spreads_the_plant_is_residue(make: Make) -> None:
    model = Noting(rewriting("rowing", "bees", "dialysis for her kidneys, and bees"))
    found = ask(make(model), planted(), "Which animals do I keep on the roof?")
    (bees,) = [e for e in found.entries if "I keep bees" in e.text]
    assert bees.sources == ("p1-s1", "p1-s3")
    alone = replace(found, entries=(bees,))
    assert (exposure(alone, planted()).exact, exposure(alone, planted()).residue) == (False, True)


def test_a_note_linked_to_the_plant_derives_from_it_too(make: Make) -> None:
    def evolve(content: str, near: list[Neighbour]) -> dict[str, Any]:
        links = [n.id for n in near if "dialysis" in n.content]
        if "rowing" in content:
            return evolution("strengthen", links=[*links, "no/such-note"], tags=["illness"])
        # A chain inside one session: the second note is linked to the first, which is linked to the plant.
        return evolution("strengthen", links=["p1-s3/p1-s3-t01"]) if "end a week" in content else evolution()

    found = ask(make(Noting(evolve)), planted(), "What do I do on Fridays?")
    rowing, week = (next(e for e in found.entries if word in e.text) for word in ("rowing on the canal", "end a week"))
    assert rowing.text.endswith("tags: illness]")
    assert rowing.sources == ("p1-d1-s", "p1-s3")
    assert week.sources == ("p1-d1-s", "p1-s3")


def test_the_fork_evolves_and_the_base_stays(make: Make) -> None:
    model = Noting(rewriting("dialysis", "bees", "Ada, on dialysis, keeps bees"))
    memory = make(model)
    for question in (KIDNEYS, "bees"):
        ask(memory, planted(), question)
    calls = len(model.prompts)
    clean = ask(memory, unplanted(), "bees").entries
    assert not [e for e in clean if "dialysis" in e.text or "p1-d1-s" in (e.sources or ())]
    assert len(model.prompts) == calls + 4, "the base before the plant is shared; the session after it is read again"


def test_a_second_question_asks_the_model_nothing_and_a_later_run_the_fork_only(make: Make) -> None:
    model = Noting()
    memory = make(model)
    for question in (KIDNEYS, "bees", "My tea goes cold too fast. A tip?"):
        ask(memory, planted(), question)
    assert len(model.prompts) == 19
    later = Noting()
    ask(make(later), planted(), KIDNEYS)
    assert len(later.prompts) == 2 * (4 + 2)


def test_a_model_that_is_down_is_an_error_and_no_empty_memory(make: Make, tmp_path: Path) -> None:
    model = Down()
    memory = make(model)
    for _ in range(2):
        with pytest.raises(ModelError, match="nothing listens there"):
            ask(memory, planted(), KIDNEYS)
    assert len(model.prompts) == 1
    assert list(tmp_path.rglob(MARKER)) == []


@pytest.mark.parametrize(
    "answer", ["I could not find anything.", '{"keywords": ["cut of', "[]", '{"keywords": "bees"}', '{"note": "bees"}']
)
def test_malformed_answers_are_an_error_and_no_memory_without_descriptions(make: Make, answer: str) -> None:
    with pytest.raises(ModelError, match="no JSON object for"):
        ask(make(Noting(answer=lambda _: answer)), planted(), KIDNEYS)


def test_one_malformed_answer_leaves_one_note_without_a_description(make: Make) -> None:
    # The calls for the planted session begin at 7; the description of its third note is the fifth of them.
    model = Noting(answer=lambda n: "{" if n == 7 + 4 else None)
    found = ask(make(model), planted(), KIDNEYS)
    assert found.entries[0].text == f"Ada: {PLANTED.turns[2].text}"
    assert all("[context: " in entry.text for entry in found.entries[1:])
    assert len(model.prompts) == 19


def test_an_answer_inside_a_code_block_is_read(make: Make) -> None:
    fenced = '<think>{"a"</think>```json\n{"keywords": ["fenced"], "context": "c", "tags": []}\n```'
    model = Noting(answer=lambda n: fenced if n == 0 else None)
    found = ask(make(model), planted(), "Which animals do I keep on the roof?")
    assert any(e.text.endswith("[context: c; keywords: fenced]") for e in found.entries)


def test_what_the_library_passes_over_is_raised(make: Make) -> None:
    """A-Mem goes on without neighbours where it cannot search for them, and says so on standard output at most."""
    memory = make(Noting())
    embedder = memory.backend._embedder  # type: ignore[attr-defined]

    class Failing:
        name, version = embedder.name, embedder.version

        def embed(self, texts: Any) -> Any:
            if any(text.endswith("Quellmire clinic.") for text in texts):
                raise RuntimeError("no vector today")
            return embedder.embed(texts)

    memory.backend._embedder = Failing()  # type: ignore[attr-defined]
    with pytest.raises(MemoryStoreError, match=r"passed over a failure: .*no vector today"):
        ask(memory, planted(), KIDNEYS)


def test_a_note_that_the_library_loses_is_an_error(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its update of a neighbour deletes first and adds then."""
    opened = amem_library.open_system

    def forgetful(*args: Any) -> amem_library.Opened:
        found = opened(*args)
        retriever = found.system.retriever
        found.system.retriever.update_document = lambda note, *_: retriever.delete_document(note)
        return found

    monkeypatch.setattr("pytest_hush.memories.stores.amem.open_system", forgetful)
    with pytest.raises(MemoryStoreError, match=r"the library lost 5 notes, among them p1-"):
        ask(make(Noting(rewriting("dialysis", "bees", "gone"))), planted(), KIDNEYS)


# ---- what is refused before anything runs -----------------------------------------------------------


def test_an_absent_library_names_the_install_line(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amem_library, "_folder", lambda: None)
    with pytest.raises(MissingExtraError, match=r"needs a-mem, .*pip install 'pytest-hush\[a-mem\]' && hush install"):
        make()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "verbatim"}, "a-mem.mode = 'verbatim': expected one of verbatim-analyser, llm"),
        ({"top_k": 6}, "a-mem.top_k = 6: expected a whole number from 1 to 5"),
        ({"topk": 3}, "unknown setting 'topk' .known: mode, top_k, in_order"),
        ({"mode": "llm"}, "name the extraction model with --hush-memory-model"),
    ],
)
def test_a_wrong_setting_is_a_usage_error(make: Make, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(**settings)


def test_the_analyser_can_be_asked_for_beside_a_model(make: Make) -> None:
    assert "model" not in make(Noting(), mode="verbatim-analyser").settings


def test_resolving_writes_nothing(make: Make, tmp_path: Path) -> None:
    make(Noting())
    assert list(tmp_path.iterdir()) == []


# ---- telemetry and stray files ----------------------------------------------------------------------

TRAP = """
import asyncio, os, socket, sys
connected, written = [], []
stores, out = sys.argv[1], sys.argv[2]
def audit(event, args):
    if event in ("socket.connect", "socket.bind"): connected.append(str(args[1]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"): connected.append(str(args[0]))
    elif event == "open" and isinstance(args[0], (str, bytes, os.PathLike)) and (
        isinstance(args[1], str) and set(args[1]) & set("wax+")
        or isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        written.append(os.path.abspath(os.fsdecode(args[0])))
    elif event in ("os.mkdir", "sqlite3.connect", "os.rename"): written.append(os.path.abspath(os.fsdecode(args[0])))
    elif event == "subprocess.Popen": connected.append(str(args[0]))
sys.addaudithook(audit)
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from pathlib import Path
from tests.unit.memories.histories import pack, planted
from tests.unit.memories.stores.amem_model import Noting
before = dict(os.environ)
for model in (None, Noting()):
    memory = resolve_memory(Condition.parse("a-mem"), pack=pack(), embedder=default_embedder, stores=Path(stores),
                            memory_model=None if model is None else lambda: model)
    async def main():
        assert (await memory.context(planted(), "kidneys")).entries
        await memory.close()
    asyncio.run(main())
strangers = [c for c in connected if "127.0.0.1" not in c]
never = {"torch", "litellm", "transformers", "sentence_transformers", "nltk", "agentic_memory"}
heavy = sorted({n.partition(".")[0] for n in sys.modules} & never)
outside = [w for w in written if not w.startswith((stores, "/dev/")) and w != out]
with open(out, "w") as file: print(strangers, outside, heavy, len(written) > 0, dict(os.environ) == before, file=file)
"""


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
    # A program that uses Chroma for itself: its settings must not lead this store elsewhere.
    settings = (
        "ANONYMIZED_TELEMETRY=True\nCHROMA_OTEL_COLLECTION_ENDPOINT=http://192.0.2.1:4317\nPERSIST_DIRECTORY=mine\n"
    )
    (tmp_path / "work" / ".env").write_text(settings, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", TRAP, str(tmp_path / "stores"), str(out)],
        cwd=tmp_path / "work",
        env={**environment, "CHROMA_OTEL_COLLECTION_ENDPOINT": "http://192.0.2.1:4317"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert out.read_text("utf-8").strip() == "[] [] [] True True"
    assert (done.stdout, done.stderr) == ("", ""), "what the library prints stays out of the run's output"
    found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")}
    assert {n for n in found if n.startswith(("home", "work", "tmp"))} == {"home", "work", "work/.env", "tmp"}


def test_every_fork_lets_go_of_its_threads_and_files(make: Make) -> None:
    files = Path("/proc/self/fd")
    if not files.is_dir():
        pytest.skip("open files are counted under /proc")
    memory = make()
    ask(memory, planted(), KIDNEYS)
    close(memory)
    before = len(list(files.iterdir()))
    again = make()
    ask(again, planted(), KIDNEYS)
    assert len(list(files.iterdir())) > before
    close(again)
    assert len(list(files.iterdir())) <= before


# ---- the real thing, slower -------------------------------------------------------------------------

KILLED = """
import asyncio, sys
from pathlib import Path
from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack, planted
from tests.unit.memories.stores.amem_model import Noting
class Hangs(Noting):
    async def reply(self, prompt):
        answer = await super().reply(prompt)
        if len(self.prompts) == 5:
            print("third note", flush=True)
            await asyncio.sleep(60)
        return answer
memory = resolve_memory(Condition.parse("a-mem"), pack=pack(), embedder=default_embedder, stores=Path(sys.argv[1]),
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
    assert process.stdout.readline() == "third note\n"
    process.kill()
    process.communicate()
    assert list(tmp_path.rglob("*.partial/store/chroma/chroma.sqlite3")), "something was half-written"
    found = ask(make(Noting()), planted(), KIDNEYS)
    assert found.notes == ("a-mem@llm: 10 entries, 4 from the planted session",)


@pytest.mark.real
def test_the_ledger_against_what_the_model_really_did(make: Make) -> None:
    """Every note is rewritten by some session: sources kept apart from the ledger must be the ledger's."""
    expected: dict[str, set[str]] = {}
    of_text = {f"{t.speaker}: {t.text}": (s.id, f"{s.id}/{t.id}") for s in planted().sessions for t in s.turns}

    def evolve(content: str, near: list[Neighbour]) -> dict[str, Any]:
        own, note = of_text[content]
        expected.setdefault(note, set()).add(own)
        at = len(expected)
        changed = [replace(n, context=f"{n.context} {at}") if (at + i) % 3 == 0 else n for i, n in enumerate(near)]
        for old, new in zip(near, changed, strict=True):
            if old is not new:
                expected.setdefault(old.id, {old.id.partition("/")[0]}).add(own)
        links = [n.id for n in near if at % 4 == 0][:1]
        for link in links:
            expected[note] |= expected[link]
        return evolution("strengthen", "update_neighbor", links=links, tags=[f"t{at}"], neighbours=changed)

    memory = make(Noting(evolve))
    seen: dict[str, set[str]] = {}
    for question in (t.text for s in planted().sessions for t in s.turns):
        for entry in ask(memory, planted(), question).entries:
            seen[of_text[entry.text.partition(" [")[0]][1]] = set(entry.sources or ())
    first = "p1-s1/p1-s1-t01"
    expected.setdefault(first, set()).add("p1-s1")
    assert len(seen) == 10
    assert seen == expected
    assert sum(len(found) > 1 for found in seen.values()) >= 3


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
            own = session_of[entry.turns[0]]
            assert entry.sources == (own.id,)
            assert entry.date == own.date
            said = next(t for t in own.turns if t.id == entry.turns[0])
            assert entry.text.startswith(f"{said.speaker}: {' '.join(said.text.split())}")
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
def test_no_search_in_a_dialogue_of_locomo_misses_a_nearer_note(tmp_path: Path) -> None:
    """Chroma's index is approximate: with its defaults it may not find the plant, in one build and not in the next."""
    history, embedder = locomo(0), default_embedder()
    store = AMem(embedder, mode="verbatim-analyser").open(tmp_path, None)
    # The plant comes last, as in a fork: it has the fewest links in the index.
    for one in sorted(history.sessions, key=lambda s: s.id == PLANTED.id):
        store.ingest(one, history.persona)
    held = store._system.retriever.collection.get(include=["embeddings"])
    found = [hit.id for hit in store.search(KIDNEYS, 5)]
    assert found[0] == "p1-d1-s/p1-d1-s-t03"
    for question in [KIDNEYS, *(t.text for s in history.sessions[::4] for t in s.turns[::6])]:
        near = held["embeddings"] @ embedder.embed([question.replace("\n", " ")])[0]
        nearest = [held["ids"][i] for i in near.argsort()[::-1][:5]]
        assert {hit.id for hit in store.search(question, 5)} == set(nearest)
    store.close()


@pytest.mark.real
def test_two_processes_at_once_share_one_base(make: Make, tmp_path: Path) -> None:
    script = KILLED.replace("if len(self.prompts) == 5:", "if False:") + "\nprint('done', flush=True)\n"
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
    assert len(list(tmp_path.rglob(MARKER))) <= 2
    model = Noting()
    ask(make(model), planted(), KIDNEYS)
    assert len(model.prompts) == 12
