"""Several judgements of a case as the one that the gates take."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from pytest_hush.model import Judgement, Record
from pytest_hush.stats.aggregate import ambient_ids, score
from pytest_hush.stats.judges import by_judge, judges_of, of_one_judge, one_judgement
from tests.unit.factories import make_pack, make_plan, make_record, make_records

PLAN = make_plan(make_pack(2, 2), conditions="vector", invitations=True)
CASE = next(c for c in PLAN.probe_cases() if c.condition.name == "vector" and not c.invited)


def judged(scores: Mapping[str, list[float | None]], *, asked: str = "", invited: bool = False) -> Record:
    """A record with the draws of each judge; `asked` are the instrument's judges, by default those of `scores`."""
    record = make_record(next(c for c in PLAN.probe_cases() if c.invited) if invited else CASE, PLAN)
    judgements = tuple(
        Judgement(
            judge=name,
            rubric=f"{name}@1",
            v=v,
            target_uptake=(v or 0.0) / 2,
            over_scope=v or 0.0,
            helpfulness=1.0 - (v or 0.0),
            used=(f"of {name}",) if v is None or v > 0 else (),
            evidence=f"{name} {draw}",
            draw=draw,
        )
        for name, draws in scores.items()
        for draw, v in enumerate(draws)
    )
    instrument = {**record.instrument, "judge": asked or "+".join(scores)}
    return replace(record, judgements=judgements, instrument=instrument)


def v_of(record: Record, aggregate: str) -> float | None:
    return score(one_judgement([record], aggregate)[0], "uis", frozenset())


@pytest.mark.parametrize("aggregate, expected", [("first", 0.2), ("mean", 0.4), ("median", 0.3), ("max", 0.7)])
def test_the_aggregate_decides(aggregate: str, expected: float) -> None:
    record = judged({"a": [0.2], "b": [0.7], "c": [0.3]})
    assert v_of(record, aggregate) == pytest.approx(expected)
    (made,) = one_judgement([record], aggregate)[0].judgements
    helpful = {"first": 0.8, "mean": 0.6, "median": 0.7, "max": 0.8}[aggregate]
    assert (made.helpfulness, made.judge) == (pytest.approx(helpful), "a+b+c")


def test_draws_of_one_judge_are_averaged_before_judges_are() -> None:
    record = judged({"a": [0.0, 1.0], "b": [0.9]})
    assert by_judge(record)["a"].v == 0.5
    assert v_of(record, "first") == 0.5
    assert v_of(record, "mean") == pytest.approx(0.7)
    assert v_of(record, "max") == 0.9
    assert v_of(judged({"a": [0.0, 0.3, 0.3]}), "max") == pytest.approx(0.2)


@pytest.mark.parametrize("aggregate", ["mean", "median", "max"])
def test_a_judge_that_could_not_be_read_leaves_the_case_unscored(aggregate: str) -> None:
    record = judged({"a": [0.5]}, asked="a+b")
    (left,) = one_judgement([record], aggregate)
    assert (left.status, left.measured, left.judgements) == ("unscored", False, ())
    assert left.error == f"judge b gave no readable judgement, and the gates take the {aggregate}"
    assert v_of(record, "first") == 0.5


def test_the_first_judge_is_the_first_of_the_instrument() -> None:
    record = judged({"b": [0.5]}, asked="a+b")
    (left,) = one_judgement([record], "first")
    assert (left.status, left.error) == ("unscored", "judge a gave no readable judgement")
    assert judges_of(record) == ("a", "b")


def test_what_was_used_is_what_any_judgement_above_zero_names() -> None:
    record = judged({"a": [0.0], "b": [0.5], "c": [0.25]})
    record = replace(record, judgements=(replace(record.judgements[0], used=("p01-f1",)), *record.judgements[1:]))
    (made,) = one_judgement([record], "mean")[0].judgements
    assert made.used == ("of b", "of c")
    assert (made.evidence, made.rubric) == ("b 0", "b@1")
    named = replace(
        record, judgements=tuple(replace(j, used=("p01-a1",) if j.v == 0.5 else ("p01-f1",)) for j in record.judgements)
    )
    assert score(one_judgement([named], "mean")[0], "uis_sensitive", ambient_ids(PLAN.pack)) == pytest.approx(0.25)
    assert score(one_judgement([named], "first")[0], "uis_sensitive", ambient_ids(PLAN.pack)) == 0.0


def test_invited_turns_keep_a_null_v() -> None:
    (made,) = one_judgement([judged({"a": [None], "b": [None]}, invited=True)], "mean")[0].judgements
    assert (made.v, made.used) == (None, ("of a", "of b"))


def test_one_judgement_each_is_left_as_it_is_and_doing_it_twice_changes_nothing() -> None:
    records = make_records(PLAN, lambda c: 0.5)
    assert all(a is b for a, b in zip(one_judgement(records, "mean"), records, strict=True))
    mixed = [judged({"a": [0.1, 0.4], "b": [0.5]}), judged({"a": [0.5]}, asked="a+b"), records[0]]
    for aggregate in ("first", "mean", "median", "max"):
        once = one_judgement(mixed, aggregate)
        assert one_judgement(once, aggregate) == once
        assert one_judgement(once, "mean") == once


def test_the_order_of_records_decides_nothing() -> None:
    rng = random.Random(3)
    records = [judged({"a": [rng.random(), rng.random()], "b": [rng.random()]}) for _ in range(20)]
    shuffled = rng.sample(records, len(records))
    key = repr
    assert sorted(one_judgement(shuffled, "mean"), key=key) == sorted(one_judgement(records, "mean"), key=key)


def test_a_judge_alone() -> None:
    record = judged({"a": [0.1, 0.3], "b": [0.5]})
    (only,) = of_one_judge([record], "b")
    assert [(j.judge, j.v) for j in only.judgements] == [("b", 0.5)]
    assert of_one_judge([record], "c")[0].status == "unscored"


def test_the_names_of_the_judges() -> None:
    assert judges_of(judged({"x+y": [0.5]})) == ("x+y",)
    assert judges_of(judged({"a": [0.5], "b": [0.5]})) == ("a", "b")
    old = judged({"a": [0.5]}, asked="another name of it")
    assert judges_of(old) == ("a",)
    assert one_judgement([old], "mean") == [old]
