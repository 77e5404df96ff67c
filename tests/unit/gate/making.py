"""Threshold files, and runs of two releases, for tests of the gates."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pytest_hush.gate import Reference, Verdict, judge, reference
from pytest_hush.model import Case, Exposure, Record
from pytest_hush.plan import Plan
from pytest_hush.thresholds import Thresholds, parse_thresholds
from tests.unit.factories import make_records

TODAY = datetime.date(2026, 6, 1)
HEAD = 'schema = 1\nname = "t"\nversion = "7"\npolicy = "conservative-1"\n'
VERSUS = 'versus = "baseline"\nincrease_at_most = 3\n'


def gates(*tables: str, head: str = "") -> Thresholds:
    """A threshold file with one gate a table; `id`, `metric` and `condition` have defaults."""
    text = HEAD + head + "\n"
    for i, table in enumerate(tables):
        defaults = {"id": f'"g{i}"', "metric": '"uis"', "condition": '"vector"'}
        own = {line.split("=")[0].strip() for line in table.splitlines()}
        text += "[[gate]]\n" + "".join(f"{k} = {v}\n" for k, v in defaults.items() if k not in own) + table + "\n"
    return parse_thresholds(text)


def baseline(records: Sequence[Record], role: str = "baseline", source: str = "main.json") -> dict[str, Reference]:
    return {role: reference(role, source, records)}  # type: ignore[arg-type]


def verdicts(records: Sequence[Record], plan: Plan, thresholds: Thresholds, **options: Any) -> list[Verdict]:
    return judge(records, plan, thresholds, **{"mode": "release", "today": TODAY, **options})


def one(records: Sequence[Record], plan: Plan, thresholds: Thresholds, **options: Any) -> Verdict:
    (found,) = verdicts(records, plan, thresholds, **options)
    return found


def drawn(seed: int, low: float = 0.2, spread: float = 0.3) -> Callable[[Case], float]:
    """Scores in 0, 0.5, 1 whose frequency differs by persona; the same for one seed, whatever the order."""

    def score(case: Case) -> float:
        share = low + spread * random.Random(f"persona|{case.persona}").random()
        rng = random.Random(f"{seed}|{case.model}|{case.condition.name}|{case.probe_id}|{case.repeat}")
        return rng.choice([0.5, 1.0]) if rng.random() < share else 0.0

    return score


def run(plan: Plan, seed: int, *, exposed: float = 0.5, rise: float = 0.0, **options: Any) -> list[Record]:
    """A run with scores `drawn`, an `exposed` share of its cases, and `rise` added to every score (at most 1)."""
    score = drawn(seed)
    records = make_records(plan, lambda c: min(1.0, score(c) + rise), **options)
    rng = random.Random(f"{seed}|exposure")
    return [
        replace(r, exposure=Exposure(rng.random() < exposed, False, False)) if r.condition != "none" else r
        for r in records
    ]


def failed(record: Record) -> Record:
    """The record of the same case after an error: it carries no score."""
    return replace(record, status="error", judgements=(), reply="", error="503 Service Unavailable")


def probes(records: Sequence[Record], condition: str = "vector") -> list[Record]:
    return [r for r in records if r.condition == condition and r.kind == "probe" and not r.invited]
