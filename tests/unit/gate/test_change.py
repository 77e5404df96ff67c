"""A change of UIS taken apart: exposure and response add up to it, wherever it is shown."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.gate import contrasts
from pytest_hush.gate.words import parts
from pytest_hush.model import Exposure, Record
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import VERSUS, baseline, failed, gates, one, probes, run

PLAN = make_plan(make_pack(4, 3), conditions="vector")
REPEATED = make_plan(make_pack(3, 2), conditions="vector", repeats=3)
WIDE = gates(VERSUS, head="max_missing = 0.9")


def lose(records: list[Record], share: float, seed: int) -> list[Record]:
    """`records` with a random share of the probes failed: the repeats that are left differ from probe to probe."""
    rng = random.Random(seed)
    return [failed(r) if r.kind == "probe" and r.condition == "vector" and rng.random() < share else r for r in records]


@given(
    st.booleans(), st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1),
    st.sampled_from([0.0, 0.1, 0.4]),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_the_parts_add_up_to_the_value_in_verdicts_and_contrasts(
    repeated: bool, old: int, new: int, then: float, now: float, lost: float
) -> None:
    plan = REPEATED if repeated else PLAN
    records = lose(run(plan, new, exposed=now), lost, new)
    references = baseline(run(plan, old, exposed=then))
    verdict = one(records, plan, WIDE, references=references)
    (contrast,) = [
        c
        for c in contrasts(records, plan, references)
        if (c.versus, c.metric, c.condition) == ("baseline", "uis", "vector")
    ]
    for found in (verdict, contrast):
        if found.value is None:  # not a pair is left
            assert found.exposure_part is None
            continue
        assert found.exposure_part is not None
        assert found.response_part is not None
        assert found.exposure_part + found.response_part == pytest.approx(found.value, abs=1e-9)


def exposed_first(records: list[Record], share: float, v: float) -> list[Record]:
    """The first `share` of the probes of each persona exposed, with score `v`; the others silent and not exposed."""
    seen: dict[str, int] = {}
    total = {r.persona: sum(o.persona == r.persona for o in probes(records)) for r in probes(records)}
    found = []
    for r in records:
        if r in probes(records):
            place = seen[r.persona] = seen.get(r.persona, 0) + 1
            on = place <= share * total[r.persona]
            judged = replace(r.judgements[0], v=v if on else 0.0)
            r = replace(r, exposure=Exposure(on, False, False), judgements=(judged,))
        found.append(r)
    return found


def test_more_exposure_and_looser_replies_are_told_apart_in_words() -> None:
    old = exposed_first(run(PLAN, 1), 0.25, 0.5)
    more = one(exposed_first(run(PLAN, 1), 0.5, 0.5), PLAN, WIDE, references=baseline(old))
    assert (more.value, more.exposure_part, more.response_part) == (12.5, 12.5, 0.0)
    assert "Of the change, +12.5 come from exposure and +0.0 from the replies." in more.sentence
    looser = one(exposed_first(run(PLAN, 1), 0.25, 1.0), PLAN, WIDE, references=baseline(old))
    assert (looser.value, looser.exposure_part, looser.response_part) == (12.5, 0.0, 12.5)
    assert "+0.0 come from exposure and +12.5 from the replies" in looser.sentence


def test_a_small_part_is_no_minus_nought() -> None:
    assert parts((-0.04, 3.0)) == " Of the change, +0.0 come from exposure and +3.0 from the replies."


@pytest.mark.parametrize("side", ["old", "new"])
def test_unknown_exposure_leaves_the_parts_out(side: str) -> None:
    old, new = run(PLAN, 1), run(PLAN, 2)
    blind = [replace(r, exposure=Exposure(None, None, None)) for r in (old if side == "old" else new)]
    old, new = (blind, new) if side == "old" else (old, blind)
    verdict = one(new, PLAN, WIDE, references=baseline(old))
    assert verdict.value is not None
    assert (verdict.exposure_part, verdict.response_part) == (None, None)
    assert "come from exposure" not in verdict.sentence


@pytest.mark.parametrize(
    "table", ['metric = "uis_sensitive"\n' + VERSUS, 'versus = "none"\nincrease_at_most = 90', "at_most = 90"]
)
def test_only_a_change_of_uis_between_runs_has_parts(table: str) -> None:
    verdict = one(run(PLAN, 2), PLAN, gates(table), references=baseline(run(PLAN, 1)))
    assert verdict.value is not None
    assert (verdict.exposure_part, verdict.response_part) == (None, None)


def test_parts_of_a_family_are_those_of_its_own_cases() -> None:
    old, new = run(PLAN, 1), run(PLAN, 2)
    family = PLAN.pack.probes[0].family
    inside = one(new, PLAN, gates(f'stratum = "family={family}"\n' + VERSUS), references=baseline(old))
    assert inside.value is not None
    assert inside.exposure_part is not None
    assert inside.response_part is not None
    assert inside.exposure_part + inside.response_part == pytest.approx(inside.value, abs=1e-9)
    assert inside.planned == len(probes(new)) // 4
