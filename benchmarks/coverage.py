"""Do the bounds cover, and do the gates decide, as docs/reference/statistics.md says? By simulation.

    python benchmarks/coverage.py [--quick] [--runs N] [--seed N] [--jobs N]

Simulates runs whose true UIS is known (`simulation.py`), lets the product judge them, and prints tables. Exit code 1
when a figure lies outside its tolerance, and when the deliberately naive interval does *not*: then the simulation could
not tell a bad interval from a good one.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if not __package__:  # run as a script, or by one of its processes
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(_name, "1")  # processes share the cores, not threads
    # In place of this folder, in which this file would stand for the package `coverage`.
    sys.path[0:1] = [str(Path(__file__).resolve().parent.parent)]

import numpy as np

from benchmarks import simulation as sim
from pytest_hush.gate import judge, reference
from pytest_hush.gate.measure import Measurement, increase, level
from pytest_hush.gate.verdicts import Draft, verdict
from pytest_hush.model import FAMILIES
from pytest_hush.thresholds import Gate, Thresholds, parse_thresholds

UIS: Final = (0.1, 2.0, 10.0, 30.0, 60.0, 80.0)
SIZES: Final = (5, 15, 60)
CHANGING: Final = (2.0, 10.0, 30.0, 60.0)
MARGIN: Final = 3.0
TODAY: Final = datetime.date(2026, 1, 1)
HEAD: Final = 'schema = 1\nname = "bench"\nversion = "1"\npolicy = "conservative-1"\n'
NOBODY: Final[frozenset[str]] = frozenset()

COVERED: Final = {"low": 0.93, "mid": 0.93, "outlier": 0.90, "rare": 0.80}
"""Least coverage of `calibrated`, nominal 0.95, by how personas differ.

The last is what was measured, not what is wanted: ten personas say nothing of an outlier that is not among them.
"""
NAIVE: Final = 0.90
"""The naive interval must cover less than this somewhere."""
FALSE: Final = 0.05
"""Most false alarms, 3 standard errors of the simulation apart."""


@dataclass(frozen=True, slots=True)
class Task:
    """Some simulated runs of one setting: a function of this module by name, and what it is given."""

    what: str
    spread: str
    uis: float
    per_cell: int
    runs: int
    chunk: int
    seed: int

    def rng(self) -> np.random.Generator:
        """Its own stream: the same figures whatever ran before, and on whichever process."""
        what, spread = list(RUN).index(self.what), sim.SPREADS.index(self.spread)
        return np.random.default_rng([self.seed, what, spread, round(10 * self.uis), self.per_cell, self.chunk])


def limit_gate(limit: float, key: str = "at_most", **more: str) -> Gate:
    """One gate on UIS under ``vector``."""
    text = "".join(f"{k} = {v!r}\n" for k, v in more.items())
    return gates(f'[[gate]]\nid = "g"\nmetric = "uis"\ncondition = "vector"\n{key} = {limit!r}\n{text}').gates[0]


def gates(text: str, multiplicity: str = "none") -> Thresholds:
    return parse_thresholds(f'{HEAD}multiplicity = "{multiplicity}"\n{text}')


PLAIN: Final = gates('[[gate]]\nid = "g"\nmetric = "uis"\ncondition = "vector"\nat_most = 50\n')


def decided(gate: Gate, m: Measurement) -> str:
    """The verdict on a measurement, as `judge` reaches it for the only gate of a file."""
    draft = Draft(gate, None, m.planned, measured=m)
    return verdict(draft, m.p, 1, PLAIN, "release", TODAY, several=False).outcome


# ---- what one process does ----------------------------------------------------------------------------


def coverage(task: Task) -> Counter[str]:
    """Coverage of every interval, and decisions at the limit, at twice and at half of it."""
    rng, found = task.rng(), Counter[str]()
    bench, truth = sim.bench(task.per_cell), task.uis

    def measured(kind: str, limit: float) -> Measurement:
        return level(
            arm, "uis", "", ambient=NOBODY, confidence=0.95, kind=kind, limit=limit,
            seed_parts=("coverage", str(run)),
        )  # fmt: skip

    def count(kind: str, low: float | None, high: float | None, value: float = truth) -> None:
        assert low is not None
        assert high is not None
        found[f"{kind} n"] += 1
        found[f"{kind} low"] += low <= value
        found[f"{kind} high"] += high >= value

    for run in range(task.runs):
        means = sim.case_means(rng, truth / 100, task.spread, task.per_cell)
        observed = sim.scores(rng, means)
        arm = bench.arm(observed)
        at = measured("calibrated", truth)
        count("calibrated", at.lower, at.upper)
        outcome = decided(limit_gate(truth), at)
        found["false pass"] += outcome == "pass"
        found["false fail"] += outcome == "fail"
        found["power fail"] += decided(limit_gate(truth / 2), measured("calibrated", truth / 2)) == "fail"
        if 2 * truth <= 100:
            found["power pass"] += decided(limit_gate(2 * truth), measured("calibrated", 2 * truth)) == "pass"
        suite = measured("fixed-suite", truth)
        count("fixed-suite", suite.lower, suite.upper, 100 * float(means.mean()))
        low, high = sim.naive_bounds(rng, observed)
        count("naive", 100 * low, 100 * high)
        if run % 4 == 0:  # the slowest, and nothing depends on it
            paper = measured("bootstrap", truth)
            count("bootstrap", paper.lower, paper.upper)
    return found


def comparison(task: Task) -> Counter[str]:
    """Two runs of one release, judged as new run and baseline: whatever is found is false."""
    rng, found, bench = task.rng(), Counter[str](), sim.bench(task.per_cell)
    for _ in range(task.runs):
        means = sim.case_means(rng, task.uis / 100, task.spread, task.per_cell)
        old, new = sim.scores(rng, means), sim.scores(rng, means)
        baseline = reference("baseline", "main", bench.whole(old))
        narrow, wide = judge(
            bench.whole(new), bench.plan, AGAINST_BASELINE, mode="release", references={"baseline": baseline},
            today=TODAY,
        )  # fmt: skip
        _check_parts(wide.value, wide.exposure_part, wide.response_part)
        found["n"] += 1
        found["false fail"] += narrow.outcome == "fail"
        found["false regressed"] += wide.outcome == "pass, regressed"
        found["pass"] += narrow.outcome in ("pass", "pass, regressed")
    return found


def _check_parts(value: float | None, exposure: float | None, response: float | None) -> None:
    if value is None or exposure is None or response is None or abs(value - exposure - response) > 1e-9:
        raise AssertionError(f"{exposure} + {response} is not {value}")


def noninferiority(task: Task) -> Counter[str]:
    """A release that is as good as its baseline, one that is worse by the margin, and one by three times as much."""
    rng, found, bench = task.rng(), Counter[str](), sim.bench(task.per_cell)
    gate = limit_gate(MARGIN, "increase_at_most", versus="baseline")
    for _ in range(task.runs):
        means = sim.case_means(rng, task.uis / 100, task.spread, task.per_cell)
        theirs = bench.pairs(sim.scores(rng, means))
        for name, by in (("same", 0.0), ("margin", MARGIN / 100), ("thrice", 3 * MARGIN / 100)):
            arm = bench.arm(sim.scores(rng, sim.worse(rng, means, by, task.uis / 100)))
            m = increase(arm, theirs, "uis", "", ambient=NOBODY, confidence=0.95, limit=MARGIN)
            outcome = decided(gate, m)
            found[f"{name} n"] += 1
            found[f"{name} pass"] += outcome in ("pass", "pass, regressed")
            found[f"{name} fail"] += outcome == "fail"
    return found


def family(task: Task) -> Counter[str]:
    """Twenty gates (five models, four families), each worse than its baseline by just its margin: any fail is false."""
    rng, found, bench = task.rng(), Counter[str](), sim.bench(task.per_cell, models=5)
    for _ in range(task.runs):
        means = sim.case_means(rng, task.uis / 100, task.spread, task.per_cell)
        # The models answer the same probes of the same personas: their scores are not independent.
        old = [sim.scores(rng, means) for _ in bench.places]
        new = [sim.scores(rng, sim.worse(rng, means, 2 * MARGIN / 100, task.uis / 100)) for _ in bench.places]
        records, references = bench.whole(*new), {"baseline": reference("baseline", "main", bench.whole(*old))}
        found["n"] += 1
        for multiplicity, thresholds in TWENTY.items():
            verdicts = judge(records, bench.plan, thresholds, mode="release", references=references, today=TODAY)
            assert {v.family for v in verdicts} == {20}
            found[multiplicity] += any(v.outcome == "fail" for v in verdicts)
    return found


def _versus_baseline(name: str, margin: float, stratum: str = "") -> str:
    return (
        f'[[gate]]\nid = "{name}"\nmetric = "uis"\ncondition = "vector"\nversus = "baseline"\nbaseline = "required"\n'
        f'stratum = "{stratum}"\nincrease_at_most = {margin!r}\n'
    )


AGAINST_BASELINE: Final = gates(_versus_baseline("narrow", MARGIN) + _versus_baseline("wide", 100.0))
TWENTY: Final = {
    multiplicity: gates(
        "".join(_versus_baseline(f"in-{f}", 2 * MARGIN, f"family={f}".replace("-", "_")) for f in FAMILIES),
        multiplicity,
    )
    for multiplicity in ("none", "holm", "max-t")
}
RUN: Final[dict[str, Callable[[Task], Counter[str]]]] = {
    f.__name__: f for f in (coverage, comparison, noninferiority, family)
}


def run_task(task: Task) -> tuple[Task, Counter[str]]:
    return task, RUN[task.what](task)


# ---- the whole ------------------------------------------------------------------------------------------

Key = tuple[str, str, float, int]


def tasks(runs: int, comparisons: int, seed: int, quick: bool) -> list[Task]:
    """The long ones first, so that no process is left with one at the end."""
    found: list[Task] = []

    def add(what: str, spread: str, uis: float, per_cell: int, total: int, size: int) -> None:
        found.extend(
            Task(what, spread, uis, per_cell, min(size, total - start), chunk, seed)
            for chunk, start in enumerate(range(0, total, size))
        )

    sizes = (5, 15) if quick else SIZES
    for per_cell in reversed(sizes):
        for spread in sim.SPREADS:
            for uis in UIS if not quick else UIS[:4]:
                add("coverage", spread, uis, per_cell, runs, 50)
    each = math.ceil(comparisons / (len(CHANGING) * len(sim.SPREADS)))
    for spread in sim.SPREADS:
        for uis in CHANGING:
            add("comparison", spread, uis, 15, each, 50)
            add("noninferiority", spread, uis, 15 if quick else 60, each, 25)
    for spread in sim.SPREADS:
        add("family", spread, 30.0, 5, comparisons // 5, 25)
    return found


def gather(found: Iterable[tuple[Task, Counter[str]]]) -> dict[Key, Counter[str]]:
    total: dict[Key, Counter[str]] = {}
    for task, counts in found:
        total.setdefault((task.what, task.spread, task.uis, task.per_cell), Counter()).update(counts)
    return total


class Report:
    """Prints figures and remembers those outside their tolerance."""

    def __init__(self, found: dict[Key, Counter[str]]) -> None:
        self.found = found
        self.faults: list[str] = []

    def pooled(self, what: str, spread: str = "", per_cell: int = 0, uis: float = 0.0) -> Counter[str]:
        total = Counter[str]()
        for (w, s, u, n), counts in self.found.items():
            if w == what and s == (spread or s) and n == (per_cell or n) and u == (uis or u):
                total.update(counts)
        return total

    def at_most(self, what: str, hits: int, n: int, limit: float = FALSE) -> None:
        """A rate of `hits` of `n` that may exceed `limit` by 3 standard errors."""
        allowed = limit + 3 * math.sqrt(limit * (1 - limit) / n)
        if hits / n > allowed:
            self.faults.append(f"{what}: {hits / n:.1%}, at most {allowed:.1%}")

    def coverage(self) -> None:
        sizes = sorted({n for w, _, _, n in self.found if w == "coverage"})
        levels = sorted({u for w, _, u, _ in self.found if w == "coverage"})
        worst_naive = 1.0
        for spread in sim.SPREADS:
            print(f"\nCoverage in %, upper / lower bound, one-sided 95 %; personas: {spread}")
            print(f"{'UIS':>6} {'n a cell':>8}" + "".join(f"{k:>16}" for k in KINDS))
            for uis in levels:
                for n in sizes:
                    c = self.found["coverage", spread, uis, n]
                    print(f"{uis:>6g} {n:>8}" + "".join(f"{_both(c, k):>16}" for k in KINDS))
                    worst_naive = min(worst_naive, c["naive high"] / c["naive n"], c["naive low"] / c["naive n"])
                    for side in ("high", "low"):
                        missed, total = c["calibrated n"] - c[f"calibrated {side}"], c["calibrated n"]
                        where = f"calibrated misses ({side}, {spread}, UIS {uis:g}, n {n})"
                        self.at_most(where, missed, total, 1 - COVERED[spread])
            for n in sizes:
                c = self.pooled("coverage", spread, n)
                print(f"{'all':>6} {n:>8}" + "".join(f"{_both(c, k):>16}" for k in KINDS))
                for side in ("high", "low"):
                    if c[f"calibrated {side}"] / c["calibrated n"] < COVERED[spread]:
                        self.faults.append(
                            f"calibrated covers ({side}, {spread}, n {n}, all UIS) "
                            f"{c[f'calibrated {side}'] / c['calibrated n']:.1%}, at least {COVERED[spread]:.0%}"
                        )
        print(f"\nThe naive interval covers {worst_naive:.1%} at its worst (it must be below {NAIVE:.0%}).")
        if worst_naive >= NAIVE:
            self.faults.append(f"the naive interval covers {worst_naive:.1%} everywhere: nothing could fail here")

    def decisions(self) -> None:
        sizes = sorted({n for w, _, _, n in self.found if w == "coverage"})
        levels = sorted({u for w, _, u, _ in self.found if w == "coverage"})
        print("\nDecisions in %: false pass / false fail at the limit / pass at half / fail at twice the limit")
        print(f"{'personas':>10} {'UIS':>6}" + "".join(f"{f'n = {n}':>24}" for n in sizes))
        names = ("false pass", "false fail", "power pass", "power fail")
        for spread in sim.SPREADS:
            for uis in levels:
                cells = []
                for n in sizes:
                    c = self.found["coverage", spread, uis, n]
                    shown = [f"{100 * c[k] / c['calibrated n']:.0f}" for k in names]
                    if 2 * uis > 100:
                        shown[2] = "-"
                    cells.append(f"{' / '.join(shown):>24}")
                print(f"{spread:>10} {uis:>6g}" + "".join(cells))

    def comparisons(self) -> None:
        print("\nThe same release twice, n = 15, by gate.judge, in %")
        print(
            f"{'personas':>10} {'UIS':>6} {'runs':>6} {'false fail':>12} {'false regressed':>16} {'pass, margin 3':>15}"
        )
        rows = [(s, u) for s in sim.SPREADS for u in CHANGING] + [("", 0.0)]
        for spread, uis in rows:
            c = self.pooled("comparison", spread, uis=uis)
            print(
                f"{spread or 'all':>10} {f'{uis:g}' if uis else 'all':>6} {c['n']:>6} {_rate(c, 'false fail'):>12} "
                f"{_rate(c, 'false regressed'):>16} {_rate(c, 'pass'):>15}"
            )
        self.at_most("A/A false fail", c["false fail"], c["n"])
        self.at_most("A/A false regressed", c["false regressed"], c["n"])

    def noninferiority(self) -> None:
        n = max(size for w, _, _, size in self.found if w == "noninferiority")
        print(f"\nNoninferiority, margin {MARGIN:g} points, n = {n}, in %: pass / fail")
        print(f"{'personas':>10} {'UIS':>6} {'unchanged':>14} {'at the margin':>14} {'thrice':>14}")
        rows = [(s, u) for s in sim.SPREADS for u in CHANGING] + [("", 0.0)]
        for spread, uis in rows:
            c = self.pooled("noninferiority", spread, uis=uis)
            shown = [f"{_rate(c, f'{k} pass', f'{k} n')} / {_rate(c, f'{k} fail', f'{k} n')}" for k in CHANGES]
            print(f"{spread or 'all':>10} {f'{uis:g}' if uis else 'all':>6}" + "".join(f" {x:>14}" for x in shown))
        self.at_most("false pass at the margin", c["margin pass"], c["margin n"])
        self.at_most("false fail at the margin", c["margin fail"], c["margin n"])
        self.at_most("false fail when nothing changed", c["same fail"], c["same n"])

    def families(self) -> None:
        print("\nTwenty gates at their limit, n = 5: any fail, in %")
        print(f"{'personas':>10} {'runs':>6} {'uncorrected':>12} {'holm':>8} {'max-t':>8}")
        for spread in (*sim.SPREADS, ""):
            c = self.pooled("family", spread)
            rates = f"{_rate(c, 'none'):>12} {_rate(c, 'holm'):>8} {_rate(c, 'max-t'):>8}"
            print(f"{spread or 'all':>10} {c['n']:>6} {rates}")
        for name in ("holm", "max-t"):
            self.at_most(f"any of twenty fails ({name})", c[name], c["n"])
        if c["none"] / c["n"] <= FALSE:
            self.faults.append("uncorrected gates raise no false alarm: the correction was not tested")


KINDS: Final = ("calibrated", "bootstrap", "fixed-suite", "naive")
CHANGES: Final = ("same", "margin", "thrice")


def _both(c: Counter[str], kind: str) -> str:
    n = c[f"{kind} n"]
    return f"{100 * c[f'{kind} high'] / n:.1f} / {100 * c[f'{kind} low'] / n:.1f}" if n else "-"


def _rate(c: Counter[str], name: str, of: str = "n") -> str:
    return f"{100 * c[name] / c[of]:.1f}"


def children() -> float:
    """Processor seconds of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs, sizes and levels: about a minute")
    parser.add_argument("--runs", type=int, help="simulated runs of each setting (100; quick: 40)")
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    options = parser.parse_args()
    runs = options.runs or (40 if options.quick else 100)
    started = time.perf_counter()
    todo = tasks(runs, 240 if options.quick else 1008, options.seed, options.quick)
    with ProcessPoolExecutor(options.jobs) as pool:
        report = Report(gather(pool.map(run_task, todo)))
    print(
        f"{runs} runs of each setting, {sim.PERSONAS} personas x 4 families x n probes; seed {options.seed}. Standard "
        f"error of a coverage of 95 %: {100 * math.sqrt(0.05 * 0.95 / runs):.1f} points in a row."
    )
    for part in (report.coverage, report.decisions, report.comparisons, report.noninferiority, report.families):
        part()
    wall, used = time.perf_counter() - started, time.process_time() + children()
    print(f"\n{wall:.0f} s on {options.jobs} processes, {used:.0f} s of processor time")
    for fault in report.faults:
        print(f"OUTSIDE: {fault}")
    print("outside the tolerance" if report.faults else "all within the tolerance")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
