"""A run's figures corrected by readers' labels of a random part of its replies. Imports scipy on the first figure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_hush.gate.arms import Arm, lay_out
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.stats.aggregate import score
from pytest_hush.stats.judges import one_judgement
from pytest_hush.store.labels import RunLabels
from pytest_hush.thresholds import Gate, Thresholds

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement
    from pytest_hush.stats.corrected import Cluster

READ: Final[Mapping[str, str]] = {"uis": "v", "over_scope": "over_scope", "helpfulness": "helpfulness"}
"""Metrics that labels can correct, and the label's field; readers do not say what was used, so not `uis_sensitive`."""
NOBODY: Final = frozenset[str]()
"""The sensitive ids that none of these metrics asks for."""


@dataclass(frozen=True, slots=True)
class Correction:
    """One metric of one condition, as the judge scored it and as corrected by labels, in points 0..100.

    `labels` of its replies were read. `bias` is reader minus judge. Bounds are one-sided at `confidence`. The corrected
    figures are None where labels are too few; `note` says how many are needed.
    """

    model: str
    condition: str
    metric: str
    labels: int
    raw: float | None
    raw_lower: float | None
    raw_upper: float | None
    value: float | None
    lower: float | None
    upper: float | None
    bias: float | None
    confidence: float
    note: str = ""


def corrections(
    records: Iterable[Record], plan: Plan, labels: RunLabels, *, confidence: float = 0.95, aggregate: str = "first"
) -> list[Correction]:
    """The judge's and the corrected figure of every metric in `READ`, for every (model, condition) in plan order.

    `aggregate` as in `judge`.
    """
    from pytest_hush.gate.measure import level

    found = []
    for arm in lay_out(one_judgement(records, aggregate), plan, None).arms:
        for metric in READ:
            own = level(
                arm,
                metric,
                "",
                ambient=NOBODY,
                confidence=confidence,
                kind="calibrated",
                seed_parts=("estimate", plan.pack.hash),
            )
            if own.value is None:
                continue
            m = corrected_level(arm, metric, labels, confidence=confidence)
            found.append(
                Correction(
                    model=arm.model,
                    condition=arm.condition,
                    metric=metric,
                    labels=m.labels,
                    raw=own.value,
                    raw_lower=own.lower,
                    raw_upper=own.upper,
                    value=m.value,
                    lower=m.lower,
                    upper=m.upper,
                    bias=m.bias,
                    confidence=confidence,
                    note=m.note,
                )
            )
    return found


def asks(gate: Gate, thresholds: Thresholds) -> bool:
    """Whether the file wants this gate judged on corrected bounds: a level of UIS over a whole condition."""
    return thresholds.judge.corrected and gate.metric == "uis" and gate.at_most is not None and not gate.stratum


def corrected_level(
    arm: Arm,
    metric: str,
    labels: RunLabels,
    *,
    confidence: float,
    limit: float | None = None,
) -> Measurement:
    """The corrected mean score of an arm; with a `limit` (at most, in points) the bounds that can pass and fail it.

    Without enough labels nothing is estimated, and `note` names the personas and the number needed.
    """
    from pytest_hush.gate.measure import Measurement
    from pytest_hush.stats.corrected import corrected, corrected_bound, corrected_p, lacking
    from pytest_hush.stats.intervals import TABLE_RHO, passing_rho
    from pytest_hush.stats.missing import share, widen

    cases = arm.cases
    clusters, scored = _clusters(arm.found(cases), metric, labels)
    lost = len(cases) - scored
    read = sum(len(c.labelled) for c in clusters.values())
    found = corrected(clusters)
    if found is None:
        return Measurement(0, len(cases), lost, labels=read, note=_too_few(lacking(clusters), clusters))
    part = share(lost, scored)
    rho = TABLE_RHO if limit is None else passing_rho(limit)
    low = corrected_bound(found, confidence, TABLE_RHO if limit is None else 0.0, upper=False)
    high = corrected_bound(found, confidence, rho, upper=True)
    low, high = widen(low, high, part)
    worst = None if limit is None else limit / 100.0 + part
    return Measurement(
        n=scored,
        planned=len(cases),
        missing=lost,
        value=_points(min(1.0, max(0.0, found.mean))),
        lower=_points(low),
        upper=_points(high),
        p=None if worst is None else corrected_p(found, worst),
        widened=100.0 * part,
        personas=found.personas,
        note="one persona" if found.personas < 2 else "",
        contrasts={} if worst is None else {g: (mean - worst) * n for g, (mean, n) in found.parts.items()},
        labels=read,
        bias=_points(found.bias),
    )


def _clusters(records: Iterable[Record], metric: str, labels: RunLabels) -> tuple[dict[str, Cluster], int]:
    """Personas with the judge's mean over their probes and what was labelled of them, and the number of scored cases.

    Repeats of a probe are averaged, so each counts by its share of the probe.
    """
    from pytest_hush.stats.corrected import Cluster, Labelled

    probes: dict[str, dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    scored = 0
    for record in records:
        value = score(record, metric, NOBODY)
        if value is not None:
            probes[record.persona][record.probe_id].append((value, record.key))
            scored += 1
    found = {}
    for persona, own in probes.items():
        labelled = []
        for repeats in own.values():
            for value, key in repeats:
                label = labels.items.get(key)
                reader = None if label is None else getattr(label, READ[metric])
                if label is not None and reader is not None:
                    labelled.append(Labelled(value, reader, label.weight / len(repeats)))
        means = [math.fsum(v for v, _ in repeats) / len(repeats) for repeats in own.values()]
        found[persona] = Cluster(math.fsum(means) / len(means), len(means), labelled)
    return found, scored


def _points(share: float) -> float:
    """0..1 to points, without the dust of binary fractions."""
    return round(100.0 * share, 10) + 0.0


def _too_few(personas: Mapping[str, int], clusters: Mapping[str, Cluster]) -> str:
    from pytest_hush.stats.corrected import ADVISED, LEAST

    if not personas:
        return "no scored case in any persona"
    some = ", ".join(f"{name} has {n}" for name, n in list(personas.items())[:4])
    more = f" and {len(personas) - 4} more personas have too few" if len(personas) > 4 else ""
    most = max(c.cases for c in clusters.values())
    advised = f"about {ADVISED} are advised. Export with a larger --n and label on"
    if most < ADVISED:
        advised = (
            f"about {ADVISED} would be good, but this run has {most} at most: label all of them (export with a larger "
            f"--n), and measure more probes for a narrower interval"
        )
    needed = f"{LEAST} a persona and condition are needed, {advised}"
    return f"labels are too few to correct the judge: {some}{more}; {needed}"


@dataclass(frozen=True, slots=True)
class Review:
    """What readers' labels make of a run. `who` labelled, '' for no usable labels; `notes` are for a reader."""

    corrections: tuple[Correction, ...] = ()
    who: str = ""
    notes: tuple[str, ...] = ()


NO_REVIEW: Final = Review()


def reviewed(
    found: tuple[RunLabels | None, str], records: Sequence[Record], plan: Plan, thresholds: Thresholds
) -> Review:
    """What `usable_labels` found, as reports show it for `records` of `plan`.

    Stale labels are told in the notes, and so is a gate file that asks for labels which are not there.
    """
    labels, why = found
    rows: list[Correction] = []
    if labels is not None:
        rows = corrections(
            records, plan, labels, confidence=thresholds.confidence, aggregate=thresholds.judge.aggregate
        )
    notes = [why] if why else []
    read = {(c.model, c.condition) for c in rows if c.labels}
    asked = [
        c.name for c in plan.conditions if any(asks(g, thresholds) and g.matches(c.name) for g in thresholds.gates)
    ]
    without = [name for name in asked if any((model, name) not in read for model in plan.models)]
    if without:
        where = "" if labels is None else f" under {', '.join(without)}"
        notes.append(
            f"The gate file asks for UIS corrected by readers' labels. This run has none{where}: the judge's scores "
            f"alone decide there."
        )
    return Review(tuple(rows), "" if labels is None else labels.told, tuple(notes))
