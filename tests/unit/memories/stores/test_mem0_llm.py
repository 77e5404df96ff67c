"""Mem0's real library, its real FAISS store and its real prompt; only the extraction model is scripted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import ModelError
from pytest_hush.memories import exposure
from pytest_hush.memories.stores.bases import MARKER
from pytest_hush.model import History
from tests.unit.memories.histories import DISCLOSURE, PERSONA, PLANTED, planted
from tests.unit.memories.stores.extraction import Extraction, section, users_lines
from tests.unit.memories.stores.notebook import ask
from tests.unit.memories.stores.systems import KIDNEYS, Make

SYSTEM = "mem0"


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
    with pytest.raises(ModelError, match="sessions were not in the format"):
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
