"""A-Mem's library in processes of its own: what it sends and writes, and a whole dialogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.memories.stores.amem import AMem
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import PLANTED, locomo, planted
from tests.unit.memories.stores.amem_model import Neighbour, Noting, evolution
from tests.unit.memories.stores.notebook import ask, close
from tests.unit.memories.stores.processes import (
    NOTHING,
    both_done,
    caught,
    check_a_dialogue,
    hanging,
    kill_in_mid_ingest,
)
from tests.unit.memories.stores.systems import KIDNEYS, Make, tree

SYSTEM = "a-mem"
MODEL = "tests.unit.memories.stores.amem_model:Noting"
MODELS = """
from tests.unit.memories.stores.amem_model import Noting
MODELS = (None, Noting())
"""
CHECKS = """
never = {"torch", "litellm", "transformers", "sentence_transformers", "nltk", "agentic_memory"}
assert {n.partition(".")[0] for n in sys.modules}.isdisjoint(never)
assert dict(os.environ) == before
"""


def test_nothing_is_sent_anywhere_and_nothing_written_outside_the_stores(tmp_path: Path) -> None:
    # A program that uses Chroma for itself: its settings must not lead this store elsewhere.
    endpoint = "http://192.0.2.1:4317"
    mine = f"ANONYMIZED_TELEMETRY=True\nCHROMA_OTEL_COLLECTION_ENDPOINT={endpoint}\nPERSIST_DIRECTORY=mine\n"
    told = caught(
        SYSTEM,
        MODELS,
        CHECKS,
        tmp_path,
        loopback=True,
        files={".env": mine},
        environment={"CHROMA_OTEL_COLLECTION_ENDPOINT": endpoint},
    )
    assert told == NOTHING
    found = tree(tmp_path)
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


@pytest.mark.real
def test_a_base_killed_in_mid_ingest_is_built_anew(make: Make, tmp_path: Path) -> None:
    kill_in_mid_ingest(hanging(SYSTEM, MODEL, at=5), tmp_path, "chroma/chroma.sqlite3")
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
    check_a_dialogue(make(), lambda turn: f"{turn.speaker}: {' '.join(turn.text.split())}", capsys)


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
    both_done(hanging(SYSTEM, MODEL, at=0), tmp_path)
    assert len(list(tmp_path.rglob(MARKER))) <= 2
    model = Noting()
    ask(make(model), planted(), KIDNEYS)
    assert len(model.prompts) == 12
