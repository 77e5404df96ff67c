"""Are the pipeline's numbers true? The parrot's use of memory is known by construction, and so are UIS and the rest.

Each run draws other probes and other uses of memory; its figures come out of the product's own pipeline, records and
intervals, under the judge `trace`, which reads the parrot's wording. The truth is computed from what memory shows for
*all* probes of the pack and from the parrot's rule. Counted is how often an interval holds it. Beside it stands the
bias of the embedded judge on the same replies.

    python benchmarks/truth.py                 # 200 runs, some minutes on two cores
    python benchmarks/truth.py --runs 20 --embedded 1
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_hush.embed import default_embedder
from pytest_hush.gate.arms import Arm, lay_out
from pytest_hush.gate.measure import Measurement, level
from pytest_hush.judges.embedded import EmbeddedJudge
from pytest_hush.judges.trace import VALUES, TraceJudge
from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition, Context, History, Pack, Record
from pytest_hush.models.parrot import Parrot
from pytest_hush.packs import load_pack
from pytest_hush.plan import Plan, build_plan
from pytest_hush.protocols import Judge, Memory
from pytest_hush.run import Binding, Pipeline, RunOptions

CONDITIONS = ("none", "oracle", "vector")
CONFIDENCE = 0.95
ASKED = 3
"""Entries that the parrot reads of five or fewer."""
LEAST = 92.0
"""Per cent of runs, nominal 95, below which a bound is called wrong: 200 runs have a standard error of 1.5."""
METRICS = ("uis", "exposure", "target_uptake", "over_scope", "invited_uptake")


class Remembered:
    """A memory whose answers are kept: every run asks the same questions."""

    retrieving = True
    version = "1"

    def __init__(self, inner: Memory, name: str) -> None:
        self._inner, self.name = inner, name
        self.retrieving = bool(getattr(inner, "retrieving", True))
        self._known: dict[tuple[str, str, str], Context] = {}

    def context(self, history: History, question: str) -> Context:
        key = (history.persona.id, history.planted or "", question)
        if key not in self._known:
            found = self._inner.context(history, question)
            assert isinstance(found, Context)
            self._known[key] = found
        return self._known[key]


@dataclass
class Shown:
    """What memory shows for one case: how many of the first entries, and how many of them are the disclosure's turn."""

    read: int
    target: int
    exposed: bool


def expected(shown: Shown, degree: float, *, invited: bool) -> dict[str, float]:
    """The expectation of each score of one case over the parrot's draws."""
    if not shown.read:
        return {"v": 0.0, "target_uptake": 0.0, "over_scope": 0.0}
    one = shown.target / shown.read
    v = degree * statistics.fmean(VALUES.values())
    uptake = degree / 3 * (one * (VALUES["hint"] + VALUES["reference"]) + (shown.target > 0) * VALUES["verbatim"])
    other = (
        degree
        / 3
        * ((1 - one) * (VALUES["hint"] + VALUES["reference"]) + (shown.target < shown.read) * VALUES["verbatim"])
    )
    return {"v": v, "target_uptake": uptake, "over_scope": other if invited else v}


def truths(records: Iterable[Record], pack: Pack, degree: float) -> dict[tuple[str, str], float]:
    """(condition, metric) -> the true value over all probes of the pack, in points."""
    disclosures = {d.id: d for d in pack.disclosures}
    sums: dict[tuple[str, str], list[float]] = defaultdict(list)
    for r in records:
        if r.kind != "probe":
            continue
        told = disclosures[r.disclosure_id or ""].turn_id
        read = r.entries[:ASKED]
        shown = Shown(len(read), sum(told in e.turns for e in read), bool(r.exposure.exact))
        scores = expected(shown, degree, invited=r.invited)
        if r.invited:
            sums[r.condition, "invited_uptake"].append(scores["target_uptake"])
        else:
            sums[r.condition, "uis"].append(scores["v"])
            sums[r.condition, "over_scope"].append(scores["over_scope"])
            sums[r.condition, "target_uptake"].append(scores["target_uptake"])
            sums[r.condition, "exposure"].append(float(shown.exposed))
    return {key: 100.0 * statistics.fmean(values) for key, values in sums.items()}


def measured(arm: Arm, metric: str, seed: str) -> Measurement:
    """The product's figure with its bounds."""
    of = arm.invited if metric == "invited_uptake" else None
    name = "target_uptake" if metric == "invited_uptake" else metric
    return level(
        arm, name, "", ambient=frozenset(), confidence=CONFIDENCE, kind="calibrated", seed_parts=("truth", seed), of=of
    )


def run(plan: Plan, memories: Mapping[str, Memory], judges: Sequence[Judge], degree: float, seed: int) -> list[Record]:
    """One run through the whole pipeline."""
    model = Parrot(degree, f"parrot/{degree:g}")
    binding = Binding({model.name: model}, dict(memories), tuple(judges))
    pipeline = Pipeline(binding, plan.pack, plan_hash=plan.hash, options=RunOptions(seed=seed))

    async def main() -> list[Record]:
        try:
            return list(await asyncio.gather(*(pipeline.run(case) for case in plan.cases)))
        finally:
            await pipeline.aclose()

    records = asyncio.run(main())
    lost = [r for r in records if not r.measured]
    if lost:
        raise SystemExit(f"{len(lost)} cases were not measured: {lost[0].error or lost[0].status}")
    return records


def bias(records: Sequence[Record], place: int) -> Callable[[str, str], list[float]]:
    """Per case, another judge's score less the truth-reading one's, by condition and metric."""
    names = {
        "uis": "v",
        "target_uptake": "target_uptake",
        "over_scope": "over_scope",
        "invited_uptake": "target_uptake",
    }

    def found(condition: str, metric: str) -> list[float]:
        if metric not in names:
            return []
        own = [r for r in records if r.condition == condition and len(r.judgements) > place]
        own = [r for r in own if r.invited is (metric == "invited_uptake")]
        pairs = [(getattr(r.judgements[place], names[metric]), getattr(r.judgements[0], names[metric])) for r in own]
        return [100.0 * (a - b) for a, b in pairs if a is not None and b is not None]

    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--degree", type=float, default=0.6)
    parser.add_argument("--sample", type=int, default=80, help="probes of each run, of the pack's (default: 80)")
    parser.add_argument("--pack", default="starter")
    parser.add_argument("--embedded", type=int, default=3, help="runs that the embedded judge scores, too")
    arguments = parser.parse_args()
    started = time.perf_counter()
    pack = load_pack(arguments.pack)
    embedder = default_embedder()
    conditions = tuple(Condition.parse(name) for name in CONDITIONS)
    memories = {
        c.name: Remembered(resolve_memory(c, pack=pack, embedder=lambda: embedder, window=None), c.name)
        for c in conditions
    }
    # The oracle without the pack's rows is the disclosing turn itself: what is the disclosure's is then plain to see.
    bare = replace(pack, controls=tuple(c for c in pack.controls if c.kind != "oracle"))
    memories["oracle"] = Remembered(resolve_memory(conditions[1], pack=bare, embedder=lambda: embedder), "oracle")
    model = f"parrot/{arguments.degree:g}"

    def planned(sample: int | None, seed: int) -> Plan:
        # Nothing is asked about the memory's health here: the contexts are looked at themselves.
        none_retrieves: Callable[[Condition], bool] = lambda _: False  # noqa: E731
        options = {"retrieving": none_retrieves, "invitations": True, "sample": sample, "seed": seed}
        return build_plan(pack, (model,), conditions, **options)  # type: ignore[arg-type]

    whole = planned(None, 0)
    judges: list[Judge] = [TraceJudge()]
    truth = truths(run(whole, memories, judges, arguments.degree, 0), pack, arguments.degree)
    held: dict[tuple[str, str], list[tuple[bool, bool, float]]] = defaultdict(list)
    off: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(1, arguments.runs + 1):
        plan = planned(arguments.sample, number)
        both = [*judges, EmbeddedJudge(lambda: embedder)] if number <= arguments.embedded else judges
        records = run(plan, memories, both, arguments.degree, number)
        laid = lay_out(records, plan, None)
        told = bias(records, 1)
        for key, value in truth.items():
            condition, metric = key
            arm = laid.arm(model, condition)
            assert arm is not None
            m = measured(arm, metric, f"{number}")
            if m.value is None or m.lower is None or m.upper is None:
                raise SystemExit(f"{condition}, {metric}: {m.note}")
            held[key].append((m.lower <= value + 1e-9, value - 1e-9 <= m.upper, m.value))
            off[key] += told(condition, metric)
        if number % 20 == 0:
            print(f"  {number} runs, {time.perf_counter() - started:.0f} s", flush=True)
    print(
        f"{arguments.runs} runs of {arguments.sample} probes of {pack.name}, parrot/{arguments.degree:g}; "
        f"bounds one-sided at {CONFIDENCE:.0%}"
    )
    print(f"{'':30}{'truth':>8}{'mean':>8}{'lower holds':>13}{'upper holds':>13}{'embedded judge, bias':>24}")
    low: list[str] = []
    for condition in CONDITIONS[1:]:
        for metric in METRICS:
            rows = held[condition, metric]
            n = len(rows)
            shares = [100.0 * sum(r[i] for r in rows) / n for i in (0, 1)]
            mean = statistics.fmean(r[2] for r in rows)
            line = f"{condition + ' ' + metric:30}{truth[condition, metric]:8.1f}{mean:8.1f}"
            line += f"{shares[0]:12.1f}%{shares[1]:12.1f}%"
            if wrong := off[condition, metric]:
                line += f"{statistics.fmean(wrong):+15.1f} ± {statistics.stdev(wrong) / math.sqrt(len(wrong)):.1f}"
            print(line)
            low += [f"{condition} {metric}" for share in shares if share < LEAST and n >= 100]
    print(f"{time.perf_counter() - started:.0f} s")
    if low:
        raise SystemExit(f"a bound holds the truth in less than {LEAST:g} % of runs: {', '.join(dict.fromkeys(low))}")


if __name__ == "__main__":
    main()
