"""What must not change a verdict: the order of records and gates, names of personas, the hash seed, other gates."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.gate import contrasts
from pytest_hush.thresholds import Thresholds
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import baseline, failed, gates, probes, run, verdicts

PLAN = make_plan(make_pack(6, 3), conditions="vector,oracle", repeats=2)
TABLES = (
    'id = "level"\nat_most = 30',
    'id = "exposed"\nstratum = "exposed"\nat_most = 40',
    'id = "helpful"\nmetric = "helpfulness"\ncondition = "*"\nat_least = 50',
    'id = "over-none"\ncondition = "*"\nversus = "none"\nincrease_at_most = 20',
    'id = "main"\ncondition = "*"\nversus = "baseline"\nincrease_at_most = 3',
    'id = "release"\nversus = "anchor"\nincrease_at_most = 5',
    'id = "aside"\nseverity = "warn"\nat_most = 20',
)
METHODS = st.sampled_from(["holm", "max-t", "none"])
OLD, OLDER, NEW = run(PLAN, 1), run(PLAN, 2), run(PLAN, 3, rise=0.1)
LOST = {r.identity for r in probes(NEW)[::31]}
RECORDS = [failed(r) if r.identity in LOST else r for r in NEW]
REFERENCES = baseline(OLD) | baseline(OLDER, "anchor", "v1.json")


def file(method: str, tables: tuple[str, ...] = TABLES) -> Thresholds:
    return gates(*tables, head=f'multiplicity = "{method}"\nmax_missing = 0.2')


EXPECTED = {m: verdicts(RECORDS, PLAN, file(m), references=REFERENCES) for m in ("holm", "max-t", "none")}
CONTRASTS = contrasts(RECORDS, PLAN, REFERENCES)


def test_the_run_reaches_several_verdicts() -> None:
    """Otherwise this file could not tell that an order changed one."""
    assert len({v.outcome for v in EXPECTED["holm"]}) >= 3
    assert {len(e) for e in EXPECTED.values()} == {10}
    assert EXPECTED["holm"] != EXPECTED["max-t"]


@given(METHODS, st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_the_order_of_records_here_and_there(method: str, rng: random.Random) -> None:
    records, old, older = (rng.sample(r, len(r)) for r in (RECORDS, OLD, OLDER))
    references = baseline(older, "anchor", "v1.json") | baseline(old)
    assert verdicts(records, PLAN, file(method), references=references) == EXPECTED[method]
    found = contrasts(records, PLAN, {role: references[role] for role in ("baseline", "anchor")})
    assert found == CONTRASTS


@given(METHODS, st.permutations(TABLES))
@settings(max_examples=8, deadline=None)
def test_the_order_of_gates_in_the_file(method: str, tables: list[str]) -> None:
    found = verdicts(RECORDS, PLAN, file(method, tuple(tables)), references=REFERENCES)
    by_id = {v.id: v for v in found}
    assert [by_id[v.id] for v in EXPECTED[method]] == EXPECTED[method]


@pytest.mark.parametrize("method", ["holm", "max-t"])
def test_gates_that_only_warn_change_no_other(method: str) -> None:
    more = (*TABLES, *(f'id = "w{k}"\nseverity = "warn"\nat_most = {k + 10}' for k in range(5)))
    found = verdicts(RECORDS, PLAN, file(method, more), references=REFERENCES)
    assert found[: len(EXPECTED[method])] == EXPECTED[method]


def test_a_gate_alone_has_the_same_numbers_and_a_family_of_its_own() -> None:
    for method in ("holm", "max-t"):
        together = {v.id: v for v in EXPECTED[method]}
        for table in TABLES:
            for alone in verdicts(RECORDS, PLAN, file(method, (table,)), references=REFERENCES):
                other = together[alone.id]
                same = ("value", "lower", "upper", "p", "effect", "flip_p", "exposure_part", "response_part")
                assert [getattr(alone, k) for k in same] == [getattr(other, k) for k in same]
                if alone.severity == "block":
                    assert alone.family < other.family
                    assert alone.p_adjusted is not None
                    assert other.p_adjusted is not None
                    assert alone.p_adjusted <= other.p_adjusted + 1e-12


@given(METHODS, st.permutations([p.id for p in PLAN.pack.personas]))
@settings(max_examples=6, deadline=None)
def test_the_names_of_personas(method: str, names: list[str]) -> None:
    other = dict(zip([p.id for p in PLAN.pack.personas], names, strict=True))
    plan = replace(PLAN, cases=tuple(replace(c, persona=other[c.persona]) for c in PLAN.cases))
    records = [replace(r, persona=other[r.persona]) for r in RECORDS]
    assert verdicts(records, plan, file(method), references=REFERENCES) == EXPECTED[method]


def test_the_hash_seed() -> None:
    code = (
        "from tests.unit.gate.test_order import EXPECTED, CONTRASTS\n"
        "print(EXPECTED['holm'], EXPECTED['max-t'], CONTRASTS)\n"
    )
    root = Path(__file__).parents[3]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "random")
    }
    assert len(outputs) == 1
    assert outputs.pop().strip() == f"{EXPECTED['holm']} {EXPECTED['max-t']} {CONTRASTS}"
