"""One run's figures, as the tables ask for them: estimates, paired differences, and the two published bootstraps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_hush.gate import Contrast, Estimate, contrasts, estimates
from pytest_hush.gate.arms import Arm, lay_out
from pytest_hush.gate.invited import invitation_contrasts
from pytest_hush.model import Record
from pytest_hush.plan import Plan, identity
from pytest_hush.store import RunFolder

CONFIDENCE: Final = 0.95
_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Measured:
    """The records of one run of one generator, with its plan; `folder` is where they are.

    `screening`: its judge is one that only screens.
    """

    model: str
    experiment: str
    plan: Plan
    records: Sequence[Record]
    folder: Path
    screening: bool = False

    @classmethod
    def read(cls, model: str, experiment: str, folder: Path) -> Measured:
        """The run in `folder`. Raises `StoreError` where it cannot be read."""
        run = RunFolder.open(folder)
        plan = run.plan()
        planned = {identity(c) for c in plan.cases}
        own = tuple(r for r in run.records() if r.identity in planned)
        return cls(model, experiment, plan, own, folder, bool(run.manifest.get("screening_judge")))

    @property
    def demonstration(self) -> bool:
        """Whether its figures stand for no product."""
        return any(r.subject.get("demonstration") is True for r in self.records)

    @property
    def measured(self) -> int:
        """Cases that carry a score."""
        return sum(r.measured for r in self.records)

    @property
    def instrument(self) -> Mapping[str, object]:
        """What measured it; empty without a record."""
        return next((r.instrument for r in self.records), {})


@dataclass(frozen=True, slots=True)
class Figures:
    """What the tables read of one run."""

    measured: Measured
    conditions: tuple[str, ...]
    _estimates: Mapping[tuple[str, str, str], Estimate] = field(repr=False)
    _contrasts: Mapping[tuple[str, str, str], Contrast] = field(repr=False)
    _labels: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, measured: Measured) -> Figures:
        """The figures of a run of one generator."""
        plan, records = measured.plan, measured.records
        found = [*contrasts(records, plan), *invitation_contrasts(records, plan)]
        labels: dict[str, str] = {}
        for r in records:
            label = str(r.subject.get("label") or "")
            if r.kind == "probe" and "@" in label:
                labels.setdefault(r.condition, label + r.condition[len(r.condition.partition("+")[0]) :])
        return cls(
            measured,
            tuple(c.name for c in plan.conditions),
            {(e.condition, e.metric, e.stratum): e for e in estimates(records, plan, confidence=CONFIDENCE)},
            {(c.condition, c.metric, c.versus): c for c in found},
            labels,
        )

    def estimate(self, condition: str, metric: str, stratum: str = "") -> Estimate | None:
        return self._estimates.get((condition, metric, stratum))

    def contrast(self, condition: str, metric: str, versus: str) -> Contrast | None:
        return self._contrasts.get((condition, metric, versus))

    def label(self, condition: str) -> str:
        """The condition as measured: ``full-context@3584``, ``mem0@verbatim``."""
        return self._labels.get(condition, condition)

    def hierarchical(self, condition: str) -> tuple[float, float] | None:
        """Bounds of UIS by the paper's three-level bootstrap alone, in points; None without a case."""
        from pytest_hush.gate.measure import level

        arm = self._arm(condition)
        m = level(
            arm,
            "uis",
            "",
            ambient=_NOBODY,
            confidence=CONFIDENCE,
            kind="bootstrap",
            seed_parts=("reproduce", self.measured.plan.pack.hash),
        )
        return None if m.lower is None or m.upper is None else (m.lower, m.upper)

    def cluster(self, condition: str) -> tuple[float, float] | None:
        """Bounds of UIS by the bootstrap over personas, in points; None without a case."""
        from pytest_hush.stats.aggregate import sample
        from pytest_hush.stats.bootstrap import seed
        from pytest_hush.stats.cluster import cluster_bounds

        arm = self._arm(condition)
        cells = sample(arm.found(arm.cases), "uis", "", _NOBODY).cells
        found = cluster_bounds(cells, seed("cluster", self.measured.plan.pack.hash), CONFIDENCE)
        return None if found is None else (100.0 * found[0], 100.0 * found[1])

    def _arm(self, condition: str) -> Arm:
        arm = lay_out(self.measured.records, self.measured.plan, None).arm(self.measured.plan.models[0], condition)
        assert arm is not None, condition
        return arm
