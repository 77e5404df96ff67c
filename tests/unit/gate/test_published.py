"""Published arithmetic: the paper's figures, made by a run, come out of the estimates as they were printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from pytest_hush.gate import Estimate, contrasts, estimates
from pytest_hush.model import Exposure, Record
from pytest_hush.report.published import PUBLISHED_EXPOSURE, PUBLISHED_UIS
from pytest_hush.stats.decompose import Stratified, decompose
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.gate.making import baseline, gates, one, probes

Table = Mapping[tuple[str, str, str], Estimate]
MEMORIES = tuple(s for s in PUBLISHED_UIS if s != "none")
PLAN = make_plan(make_pack(10, 25), conditions=",".join(MEMORIES))
"""1,000 cases a condition: one case is a tenth of a point, so every published figure can be made."""


def scores(total: float, n: int) -> list[float]:
    """`n` scores of the rubric's five levels whose sum is `total`, as mixed as they can be."""
    found: list[float] = []
    left = total
    while left > 0:
        v = min((1.0, 0.75, 0.5, 0.25)[len(found) % 4], left)
        found.append(v)
        left -= v
    return found + [0.0] * (n - len(found))


def published_run() -> list[Record]:
    """A run with the published UIS of every condition and, where it is known, its published exposure.

    The paper prints no UIS by exposure: here four fifths of the use are in exposed cases.
    """
    made = make_records(PLAN)
    found = [r for r in made if r.kind == "control" or r.condition == "none"]
    for memory in MEMORIES:
        records = probes(made, memory)
        n = len(records)
        wanted = scores(round(PUBLISHED_UIS[memory] * n / 100, 6), n)
        shown = round(PUBLISHED_EXPOSURE.get(memory, 100.0) * n / 100)
        used = sum(v > 0 for v in wanted)
        hidden = set(range(0, used, 5)) if shown < n else set()
        exposed = [i for i in range(n) if i not in hidden][:shown]
        for place, v in enumerate(wanted):
            record = records[place * 37 % n]  # 37 is prime to 1,000: spread over all personas and families
            judged = replace(record.judgements[0], v=v, used=("target",) if v else ())
            on = place in set(exposed)
            found.append(replace(record, exposure=Exposure(on, False, False), judgements=(judged,)))
    return found


@pytest.fixture(scope="module")
def run() -> list[Record]:
    return published_run()


@pytest.fixture(scope="module")
def table(run: list[Record]) -> Table:
    return {(e.condition, e.metric, e.stratum): e for e in estimates(run, PLAN)}


@pytest.mark.parametrize("condition", PUBLISHED_UIS)
def test_the_published_uis_is_reproduced_exactly(condition: str, table: Table) -> None:
    found = table[condition, "uis", ""]
    assert (found.value, found.n) == (PUBLISHED_UIS[condition], 1000)
    assert table[condition, "uis_sensitive", ""].value == PUBLISHED_UIS[condition]


@pytest.mark.parametrize("condition", PUBLISHED_EXPOSURE)
def test_the_published_exposure_is_reproduced_and_the_identity_holds(condition: str, table: Table) -> None:
    pi, exposed, other = (
        table[condition, metric, stratum].value
        for metric, stratum in (("exposure", ""), ("uis", "exposed"), ("uis", "not-exposed"))
    )
    assert pi == PUBLISHED_EXPOSURE[condition]
    assert exposed is not None
    assert other is not None
    assert 0 < other < exposed
    assert pi / 100 * exposed + (1 - pi / 100) * other == pytest.approx(PUBLISHED_UIS[condition], abs=1e-8)
    assert Stratified(pi / 100, exposed / 100, other / 100).mean == pytest.approx(
        PUBLISHED_UIS[condition] / 100, abs=1e-10
    )


@pytest.mark.parametrize("condition", MEMORIES)
def test_the_increase_over_no_memory_is_the_published_difference(condition: str, run: list[Record]) -> None:
    (found,) = [c for c in contrasts(run, PLAN) if (c.condition, c.metric) == (condition, "uis")]
    assert found.value == PUBLISHED_UIS[condition] - PUBLISHED_UIS["none"]
    risen = sum(r.judgements[0].v != 0 for r in probes(run, condition))
    assert found.no_increase == pytest.approx(100 - risen / 10)


def test_strata_add_up_to_the_whole(table: Table) -> None:
    for condition in PUBLISHED_UIS:
        for kind in ("family=", "persona=", "category="):
            parts = [e for (c, m, s), e in table.items() if c == condition and m == "uis" and s.startswith(kind)]
            if not parts:
                continue
            assert sum(e.n for e in parts) == 1000
            whole = sum(e.n * e.value for e in parts if e.value is not None) / 1000
            assert whole == pytest.approx(PUBLISHED_UIS[condition], abs=1e-8)


def test_from_one_published_system_to_another(run: list[Record]) -> None:
    """Mem0 as the main branch, MemU as the release: 15.3 points more, and their parts are those of the strata."""
    table = {(e.condition, e.metric, e.stratum): e for e in estimates(run, PLAN)}
    old, new = (_strata(table, c) for c in ("mem0", "memu"))
    plan = make_plan(make_pack(10, 25), conditions="mem0")
    mine = {(r.condition, r.probe_id): r for r in run}
    before = [replace(r, plan_hash=plan.hash) for r in run if r.condition in ("none", "mem0")]
    after = [
        replace(r, exposure=twin.exposure, judgements=twin.judgements)
        if r.kind == "probe" and r.condition == "mem0" and (twin := mine["memu", r.probe_id])
        else r
        for r in before
    ]
    gate = gates('condition = "mem0"\nversus = "baseline"\nincrease_at_most = 3')
    verdict = one(after, plan, gate, references=baseline(before))
    assert (verdict.outcome, verdict.value) == ("fail", 15.3)
    assert (verdict.exposure_part, verdict.response_part) == pytest.approx([100 * x for x in decompose(new, old)])


def _strata(table: Table, condition: str) -> Stratified:
    values = [
        table[condition, metric, stratum].value
        for metric, stratum in (("exposure", ""), ("uis", "exposed"), ("uis", "not-exposed"))
    ]
    assert None not in values
    return Stratified(*(v / 100 for v in values if v is not None))
