"""Made-up runs on disk whose replies can be labelled, and readers' sheets for them."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_hush.judges.rubric import load_rubric
from pytest_hush.model import Record
from pytest_hush.packs import load_pack
from pytest_hush.plan import Plan
from pytest_hush.report.show import instrument_pack
from pytest_hush.store import RunFolder
from tests.unit.factories import make_plan, make_records

LEVELS = (0.0, 0.0, 0.0, 0.25, 0.5, 0.75, 1.0)
Scores = tuple[float, float, float, float]


def starter_plan(sample: int = 40, conditions: str = "vector") -> Plan:
    return make_plan(load_pack("starter"), sample=sample, conditions=conditions)


def replied(plan: Plan, seed: int = 1) -> list[Record]:
    """Records of `plan` by the bundled rubric, each with a reply of its own and a score drawn by `seed`."""
    rng = random.Random(seed)
    instrument = {"pack": instrument_pack(plan.pack), "rubric": load_rubric().id}
    found = []
    for n, r in enumerate(make_records(plan, lambda case: rng.choice(LEVELS))):
        scored = tuple(replace(j, over_scope=j.v or 0.0, rationale="the judge's secret") for j in r.judgements)
        text = f"Take a quiet hour and a cup of tea. Then water the plants, tidy the desk; step {n} is yours."
        found.append(
            replace(r, reply=text if r.reply else "", judgements=scored, instrument={**r.instrument, **instrument})
        )
    return found


def kept(folder: Path, plan: Plan, records: list[Record], *, private: bool = False) -> Path:
    """`records` as a run folder."""
    run = RunFolder.create(folder, {"plan_hash": plan.hash, "private": private})
    run.keep_plan(plan)
    log = run.log("main")
    for record in records:
        log.append(record)
    log.close()
    return folder


def filled(
    source: Path, path: Path, score: Callable[[str], Scores | None], *, annotator: str = "Ada", evidence: str = ""
) -> dict[str, Scores]:
    """The review at `source` labelled by `score` of an item (None: left blank), written to `path`."""
    given: dict[str, Scores] = {}
    with source.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        scores = score(row["item"])
        if scores is not None:
            given[row["item"]] = scores
            names = ("v", "target_uptake", "over_scope", "helpfulness")
            row.update({name: f"{value:g}" for name, value in zip(names, scores, strict=True)})
            row.update(annotator=annotator, evidence=evidence)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return given


def by_record(records: list[Record]) -> Mapping[str, Record]:
    return {r.key: r for r in records}
