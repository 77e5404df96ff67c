"""A-Mem's real library and its real Chroma; only the language model is scripted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import MemoryStoreError, ModelError
from pytest_hush.memories import exposure
from pytest_hush.memories.stores import amem_library
from pytest_hush.memories.stores.amem import bounded
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import (
    PLANTED,
    planted,
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
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, Make

SYSTEM = "a-mem"


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
    with pytest.raises(ModelError, match="sessions were not in the format"):
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
