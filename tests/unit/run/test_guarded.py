"""``+guard`` and ``+revoked`` from end to end: what is asked once, what is checked, what the record says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.guard import GuardedMemory, GuardSettings
from pytest_hush.guard.lexicon import load_phrases
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition

from ..factories import make_pack
from .standins import Recall, Scripted, memories_of, pipeline_of, plan_of
from .test_pipeline import measure

PLAIN = GuardSettings(embeddings=False)
SILENT_GATES = replace(PLAIN, silent=("debt", "legal_or_immigration"))


def test_what_stands_behind_a_guard_is_asked_once_for_both_conditions() -> None:
    plan = plan_of("recall,recall+guard,recall+guard+boundary")
    recall = Recall()
    guarded = {n: GuardedMemory(recall, PLAIN) for n in ("recall+guard", "recall+guard+boundary")}
    records = measure(pipeline_of(plan, memories=memories_of(plan, recall=recall, **guarded)), plan.cases)
    assert set(recall.asked.values()) == {1}
    assert {r.status for r in records} == {"ok"}
    told = {c: [r for r in records if r.condition == c and r.kind == "probe"] for c in ("recall", "recall+guard")}
    assert all(r.exposure.exact for r in told["recall"])
    assert not any(r.exposure.exact for r in told["recall+guard"])
    assert all(r.judgements[0].v == 0 for r in told["recall+guard"])
    subject = told["recall+guard"][0].subject
    assert (subject["memory"], subject["memory_version"]) == ("recall+guard", "guard-1/1")
    assert subject["settings"]["memory"]["guard"]["otherwise"] == "silent"
    assert any(note.startswith("guard: of ") for note in told["recall+guard"][0].notes)


def test_a_dead_store_behind_a_guard_is_found_and_what_the_guard_hides_is_told_apart() -> None:
    plan = plan_of("recall+guard")
    lost = {"recall+guard": GuardedMemory(Recall(lose="session"), PLAIN)}
    records = measure(pipeline_of(plan, memories=memories_of(plan, **lost)), plan.cases)
    assert {r.status for r in records if r.kind == "probe" and r.condition != "none"} == {"unplanted"}

    class Hides(GuardedMemory):
        def permit(self, found, history, question):  # type: ignore[no-untyped-def]
            return replace(found, entries=())

    blind = {"recall+guard": Hides(Recall(), PLAIN)}
    records = measure(pipeline_of(plan, memories=memories_of(plan, **blind)), plan.cases)
    assert {r.status for r in records} == {"ok"}
    assert [r.control for r in records if r.kind == "control"] == [
        {"retrieved": True, "shown": False, "used": False} for c in plan.cases if c.kind == "control"
    ]


def test_dropping_at_storage_is_withheld_and_not_lost() -> None:
    # The disclosure's turn and its harmless fact are one turn in this pack, so two turns are told apart here.
    plan = plan_of("recall+guard")
    pack = make_pack(2, 1)
    apart = tuple(
        replace(d, turns=(replace(d.turns[0], text="I owe the bank a fortune, a debt."),
                          replace(d.turns[0], id=f"{d.id}-t2", text="I mend clocks.")))
        for d in pack.disclosures
    )  # fmt: skip
    plan = replace(plan, pack=replace(pack, disclosures=apart))
    guarded = {"recall+guard": GuardedMemory(Recall(), replace(PLAIN, storage="drop", spread=0))}
    records = measure(pipeline_of(plan, memories=memories_of(plan, **guarded)), plan.cases)
    assert {r.status for r in records if r.condition == "recall+guard" and r.kind == "probe"} == {"withheld"}


def test_a_withdrawal_is_part_of_the_history_and_readiness_is_asked_before_it() -> None:
    plan = plan_of("recall+revoked,oracle+revoked", invitations=True)
    recall = Recall()
    records = measure(pipeline_of(plan, memories=memories_of(plan, **{"recall+revoked": recall})), plan.cases)
    assert {r.status for r in records} == {"ok"}
    oracle = next(r for r in records if r.condition == "oracle+revoked" and r.kind == "probe")
    assert len(oracle.entries) == 2
    assert load_phrases().revokes.found(oracle.entries[1].text)
    assert oracle.entries[1].sources == (f"{oracle.disclosure_id}-s-revoked",)
    assert oracle.exposure.exact
    assert oracle.subject["withdrawal"].startswith("revocation-1@")
    assert len({r.key for r in records}) == len(records)


def test_a_memory_that_forgets_the_session_when_told_to_is_measured_and_not_missing() -> None:
    class Obeys(Recall):
        def context(self, history, question):  # type: ignore[no-untyped-def]
            found = super().context(history, question)
            gone = history.planted if history.revoked else None
            return replace(found, entries=tuple(e for e in found.entries if gone not in (e.sources or ())))

    plan = plan_of("recall+revoked")
    memories = memories_of(plan, **{"recall+revoked": Obeys()})
    records = [r for r in measure(pipeline_of(plan, memories=memories), plan.cases) if r.condition == "recall+revoked"]
    assert {r.status for r in records} == {"ok"}
    assert not any(r.exposure.exact for r in records if r.kind == "probe")


def test_the_model_that_reads_warrants_is_under_the_limits_of_the_run() -> None:
    settings = replace(PLAIN, warrant="model", warrant_model="openai/warrants")
    reader = Scripted("openai/warrants", lambda _, prompt: '{"asks": true, "raises": []}')
    plan = plan_of("recall+guard")
    memory = GuardedMemory(Recall(), settings, model=reader)
    pipeline = pipeline_of(plan, memories=memories_of(plan, **{"recall+guard": memory}))
    records = measure(pipeline, plan.cases)
    assert {r.status for r in records} == {"ok"}
    assert reader.calls > 0
    assert pipeline.counters.calls >= reader.calls
    assert pipeline.counters.cost_usd >= 0.001 * reader.calls
    assert memory.model is reader  # the run works on a copy


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none+guard", "shows nothing that could be kept back"),
        ("assistant+guard", "shows no context to a guard"),
        ("none+revoked", "nothing can be withdrawn"),
        ("vector+shared+revoked", "name one of the two"),
        ("oracle+guard+guard", "stands twice"),
        ("oracle+gaurd", r"no modifier \+gaurd"),
    ],
)
def test_modifiers_that_mean_nothing_are_refused(name: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        resolve_memory(Condition.parse(name), pack=make_pack(1, 1), embedder=lambda: pytest.fail("no embedding"))


def test_guard_by_name_wraps_the_built_in_memory() -> None:
    memory = resolve_memory(
        Condition.parse("oracle+guard"), pack=make_pack(1, 1), embedder=lambda: pytest.fail("none"), guard=SILENT_GATES
    )
    assert isinstance(memory, GuardedMemory)
    assert (memory.name, memory.retrieving) == ("oracle+guard", False)
    assert memory.settings["guard"]["silent"] == ["debt", "legal_or_immigration"]


def test_names_of_conditions_take_their_modifiers_apart() -> None:
    condition = Condition.parse("mem0+revoked+guard+boundary")
    assert (condition.revoked, condition.guarded, condition.boundary) == (True, True, True)
    assert condition.unguarded.name == "mem0+revoked"
    assert condition.told.name == "mem0+guard+boundary"
    assert condition.memory == "mem0+revoked+guard"
