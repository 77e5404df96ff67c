"""MemU's real library and its real prompts; only the extraction model is scripted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MemoryStoreError, ModelError
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.memu import MemU, MemUStore
from pytest_hush.memories.stores.memu_dump import RECORDS
from tests.unit.memories.histories import PLANTED
from tests.unit.memories.stores.memu_extraction import Extraction, lines_of, xml
from tests.unit.memories.stores.memu_histories import BARE, SIX
from tests.unit.memories.stores.notebook import ask, close
from tests.unit.memories.stores.systems import KIDNEYS, Make, bases

SYSTEM = "memu"


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
