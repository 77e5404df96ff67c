"""How fast are the hierarchical bootstrap and the judging of a large run, and what memory do they take?

    python benchmarks/bootstrap.py [--quick] [--only bootstrap|run] [--records N ...]

Needs `pip install arch` (a bootstrap library to compare with; it is no dependency of the project).

First: 10,000 replicates of the means of 20 columns of 2,400 scores, beside `scipy.stats.bootstrap` and `arch`, each in
a process of its own. Ours draws personas and then cases within each of their cells; theirs draw cases, which is less
work and the wrong interval (coverage.py). The time of our random draws alone is measured apart. Then a run of 48,000
records is read, aggregated and judged, and one of 480,000. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[0:1] = [str(ROOT)]  # in place of this folder, whose coverage.py would stand for the package of that name

import numpy as np  # noqa: E402

COLUMNS, PERSONAS, FAMILIES, PER_CELL, REPLICATES = 20, 10, 4, 60, 10_000
FASTER: Final = {"scipy": 5.0, "arch": 2.0}
LESS_MEMORY: Final = 4.0
LINEAR: Final = 1.3
"""Ten times the records may take 13 times as long."""
SECONDS: Final = 30.0
"""Most that 48,000 records may take, from the files to the verdicts."""


# ---- the bootstrap ----------------------------------------------------------------------------------------


def scores() -> np.ndarray[Any, np.dtype[np.float64]]:
    """2,400 x 20 scores of the rubric's five levels: personas that differ, columns from rare to frequent."""
    rng = np.random.default_rng(1)
    columns = []
    for centre in np.linspace(-4.0, 1.0, COLUMNS):
        own = 1 / (1 + np.exp(-(centre + rng.normal(0.0, 0.8, PERSONAS))))
        columns.append(rng.binomial(4, np.repeat(own, FAMILIES * PER_CELL)) / 4)
    return np.stack(columns, axis=1)


def cells_of(column: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
    from pytest_hush.stats.aggregate import Cell, Cells

    grid = column.reshape(PERSONAS, FAMILIES, PER_CELL)
    return Cells(
        tuple(
            tuple(Cell(str(f), tuple(sorted(Counter(cell.tolist()).items()))) for f, cell in enumerate(persona))
            for persona in grid
        )
    )


def by_ours() -> Callable[[], Any]:
    from pytest_hush.stats.bootstrap import replicates

    x = scores()

    def run() -> Any:
        replicates.cache_clear()
        return [np.quantile(replicates(cells_of(x[:, k]), "persona-case", k), [0.05, 0.95]) for k in range(COLUMNS)]

    return run


class Drawing:
    """A generator of random numbers that keeps the time that its draws take."""

    seconds = 0.0

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def __getattr__(self, name: str) -> Callable[..., Any]:
        draw = getattr(self.generator, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            try:
                return draw(*args, **kwargs)
            finally:
                Drawing.seconds += time.process_time() - started

        return timed


def draws_of(run: Callable[[], Any]) -> float:
    """Processor seconds that `run` spends in random draws."""
    made, Drawing.seconds = np.random.default_rng, 0.0
    setattr(np.random, "default_rng", lambda seed: Drawing(made(seed)))  # noqa: B010 (its type forbids it)
    try:
        run()
    finally:
        np.random.default_rng = made
    return Drawing.seconds


def by_nothing() -> Callable[[], Any]:
    """Python, numpy and the scores: what every process here holds."""
    x = scores()
    return lambda: x


def by_scipy(batch: int) -> Callable[[], Any]:
    from scipy.stats import bootstrap

    x = scores()

    def run() -> Any:
        return bootstrap(
            (x,), np.mean, axis=0, vectorized=True, method="percentile", confidence_level=0.9, n_resamples=REPLICATES,
            batch=batch, rng=np.random.default_rng(1),
        ).confidence_interval  # fmt: skip

    return run


def by_arch() -> Callable[[], Any]:
    from arch.bootstrap import IIDBootstrap  # type: ignore[import-not-found, unused-ignore]

    x = scores()

    def run() -> Any:
        return IIDBootstrap(x, seed=1).conf_int(lambda d: d.mean(axis=0), REPLICATES, method="percentile", size=0.9)

    return run


CONTENDERS: Final[dict[str, Callable[[], Callable[[], Any]]]] = {
    "ours": by_ours,
    "numpy alone": by_nothing,
    "scipy, batch 10": lambda: by_scipy(10),
    "scipy, batch 100": lambda: by_scipy(100),
    "scipy, batch 1000": lambda: by_scipy(1000),
    "arch": by_arch,
}


def resident() -> float:
    """The peak resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def contend(name: str, repeats: int) -> dict[str, float]:
    """Best wall and processor seconds, peak memory of the process, and of what the computation itself allocates."""
    run = CONTENDERS[name]()
    run()
    peak = resident()
    wall, cpu = [], []
    for _ in range(repeats):
        a, b = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - a)
        cpu.append(time.process_time() - b)
    draws = draws_of(run) if name == "ours" else 0.0
    tracemalloc.start()
    run()
    allocated = tracemalloc.get_traced_memory()[1] / 2**20
    return {"wall": min(wall), "cpu": min(cpu), "process": peak, "allocated": allocated, "draws": draws}


def bootstraps(repeats: int) -> list[str]:
    found = {name: apart(["--contend", name, "--repeats", str(repeats)]) for name in CONTENDERS}
    ours, bare = found["ours"], found.pop("numpy alone")["process"]
    size = f"{COLUMNS} means of {PERSONAS * FAMILIES * PER_CELL:,} scores"
    print(f"{REPLICATES:,} replicates of {size}, best of {repeats}; memory in MiB: the peak of the process,")
    print(f"what of it is above Python with numpy ({bare:.0f}), and what the computation alone allocates")
    print(
        f"{'':>18} {'wall s':>7} {'cpu s':>7} {'x ours':>7} {'process':>8} {'above':>7} {'x ours':>7} {'allocated':>10}"
    )
    for name, f in found.items():
        f["above"] = max(1.0, f["process"] - bare)
        print(
            f"{name:>18} {f['wall']:>7.2f} {f['cpu']:>7.2f} {f['cpu'] / ours['cpu']:>7.1f} {f['process']:>8.0f} "
            f"{f['above']:>7.0f} {f['above'] / ours['above']:>7.1f} {f['allocated']:>10.1f}"
        )
    print(f"random draws of ours, measured apart: {ours['draws']:.2f} s, {ours['draws'] / ours['cpu']:.0%} of its time")
    faults = []
    for rival, factor in FASTER.items():
        fastest = min((f for name, f in found.items() if name.startswith(rival)), key=lambda f: f["cpu"])
        ratio = fastest["cpu"] / ours["cpu"]
        if ratio < factor:
            faults.append(f"{ratio:.1f} times as fast as {rival}, wanted {factor:g}")
        if fastest["above"] / ours["above"] < LESS_MEMORY:
            faults.append(f"memory {ours['above']:.0f} MiB beside {fastest['above']:.0f} of {rival}, wanted a quarter")
    return faults


# ---- a whole run --------------------------------------------------------------------------------------------

MODELS, CONDITIONS = 5, "vector,oracle,full-context"
GATES: Final = """schema = 1
name = "bench"
version = "1"
policy = "conservative-1"
""" + "".join(
    f'[[gate]]\nid = "g{i}"\n{text}\n'
    for i, text in enumerate(
        (
            'metric = "uis"\ncondition = "*"\nat_most = 15.0',
            'metric = "uis_sensitive"\ncondition = "*"\nat_most = 10.0',
            'metric = "uis"\ncondition = "*"\nstratum = "exposed"\nat_most = 40.0',
            'metric = "helpfulness"\ncondition = "*"\nat_least = 60.0',
            'metric = "uis"\ncondition = "*"\nversus = "none"\nincrease_at_most = 10.0',
            'metric = "completeness"\ncondition = "*"\nat_least = 95.0',
        )
    )
)


def write_run(folder: Path, records: int) -> None:
    """A run folder of about `records` records: 20 arms of more or fewer personas with 240 probes each."""
    from pytest_hush.model import Exposure
    from pytest_hush.plan import identity
    from pytest_hush.store import RunFolder
    from tests.unit.factories import make_pack, make_plan, make_record

    personas = max(2, round(records / (MODELS * 4 * FAMILIES * PER_CELL)))
    plan = make_plan(
        make_pack(personas, PER_CELL), models=[f"openai/test-{k}" for k in range(MODELS)], conditions=CONDITIONS
    )
    run = RunFolder.create(folder, {"plan_hash": plan.hash})
    run.keep_plan(plan)
    log = run.log("main")
    rng = np.random.default_rng(records)
    known: dict[tuple[str, bool], Any] = {}
    centres = dict(zip([p.id for p in plan.pack.personas], rng.normal(-3.0, 0.8, personas), strict=True))
    for number, case in enumerate(plan.cases):
        silent = case.condition.name == "none"
        base = known.get((case.probe_id, silent))
        if base is None:
            base = known[case.probe_id, silent] = make_record(case, plan)
        record = replace(
            base,
            key=f"{number:032x}",
            model=case.model,
            condition=case.condition.name,
            reply="A fern likes shade. " * 20,
        )
        assert record.identity == identity(case)
        if case.kind == "probe" and not silent:
            v = rng.binomial(4, 1 / (1 + np.exp(-centres[case.persona]))) / 4
            judged = replace(record.judgements[0], v=v, helpfulness=rng.integers(0, 5) / 4)
            record = replace(record, exposure=Exposure(bool(rng.random() < 0.3)), judgements=(judged,))
        log.append(record)
    log.close()


def judge_run(folder: Path) -> dict[str, float]:
    """Seconds of each step from the files to the verdicts, and of all that `hush gate` computes."""
    from pytest_hush.gate import contrasts, estimates, judge
    from pytest_hush.store import RunFolder
    from pytest_hush.thresholds import parse_thresholds

    found: dict[str, float] = {}
    clock = time.perf_counter()

    def step(name: str) -> None:
        nonlocal clock
        found[name], clock = time.perf_counter() - clock, time.perf_counter()

    run = RunFolder.open(folder)
    plan, thresholds = run.plan(), parse_thresholds(GATES)
    step("plan")
    records = run.records()
    step("read")
    verdicts = judge(records, plan, thresholds, mode="release", today=datetime.date(2026, 1, 1))
    step("judge")
    found |= {"records": len(records), "verdicts": len(verdicts), "process": resident()}
    clock = time.perf_counter()
    estimates(records, plan)
    step("estimates")
    contrasts(records, plan)
    step("contrasts")
    return found


def whole_runs(sizes: list[int]) -> list[str]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        for size in sizes:
            folder = Path(name) / str(size)
            write_run(folder, size)
            found.append(apart(["--judge", str(folder)]))
    print("\nA run from its files to its verdicts, in seconds; the tables of every estimate and contrast apart")
    heads = ("records", "verdicts", "plan", "read", "judge", "estimates", "contrasts")
    print("".join(f"{h:>11}" for h in (*heads, "MiB")))
    for f in found:
        print("".join(f"{f[h]:>11,.0f}" if f[h] >= 100 or h in heads[:2] else f"{f[h]:>11.2f}" for h in heads), end="")
        print(f"{f['process']:>11.0f}")
    faults = []
    totals = [f["plan"] + f["read"] + f["judge"] for f in found]
    if found[0]["records"] <= 60_000 and totals[0] > SECONDS:
        faults.append(f"{found[0]['records']:,.0f} records take {totals[0]:.0f} s, wanted {SECONDS:g}")
    for (f, total), (g, more) in zip(
        list(zip(found, totals, strict=True))[:-1], list(zip(found, totals, strict=True))[1:], strict=True
    ):
        growth = (more / total) / (g["records"] / f["records"])
        print(f"from {f['records']:,.0f} to {g['records']:,.0f} records: {growth:.2f} times as long a record")
        if growth > LINEAR:
            faults.append(f"time a record grows {growth:.2f}-fold, wanted {LINEAR:g} at most")
    return faults


# ---- the whole ------------------------------------------------------------------------------------------------


def apart(arguments: list[str]) -> dict[str, float]:
    """What this file prints, run in a fresh process: its memory is its own."""
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one repeat, and 4,800 and 48,000 records")
    parser.add_argument("--only", choices=["bootstrap", "run"])
    parser.add_argument("--records", type=int, nargs="+", help="sizes of the runs that are judged")
    parser.add_argument("--contend", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.contend:
        print(json.dumps(contend(options.contend, options.repeats)))
        return 0
    if options.judge:
        print(json.dumps(judge_run(options.judge)))
        return 0
    faults = []
    if options.only != "run":
        faults += bootstraps(1 if options.quick else options.repeats)
    if options.only != "bootstrap":
        faults += whole_runs(options.records or ([4_800, 48_000] if options.quick else [48_000, 480_000]))
    for fault in faults:
        print(f"MISSED: {fault}")
    print("a target is missed" if faults else "all targets are met")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
