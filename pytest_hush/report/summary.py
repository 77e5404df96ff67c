"""One run as plain data: what the terminal, the JSON and every later surface print, so that they cannot disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_hush.gate import NO_GUARANTEE, Comparison, Contrast, Estimate, Opinions, Verdict
from pytest_hush.gate.corrected import NO_REVIEW, Review
from pytest_hush.gate.fits import NOTHING_KNOWN, Calibrated
from pytest_hush.gate.price import cost
from pytest_hush.model import DEMONSTRATION_MODELS, Record
from pytest_hush.plan import Plan
from pytest_hush.store.revision import NOBODY_KNOWS, Revision
from pytest_hush.thresholds import Thresholds

RunStatus = Literal["passed", "undecided", "failed", "invalid", "inconclusive", "skipped", "stopped", "error"]
"""``undecided``: nothing blocks, and every gate that counts is inconclusive, so nothing was decided either.
``stopped``: the run ended early, so nothing was judged. ``error``: every gate passed, and the test session still
failed (a case could not be measured). The others follow from the verdicts, worst first."""

DEMONSTRATION_NOTICE = (
    "Demonstration model: these figures show how the tool works. They say nothing about any product, "
    "and release mode refuses them."
)


@dataclass(frozen=True, slots=True)
class ControlTally:
    """Positive controls of one (model, condition): how many were planned, retrieved, and used in the reply.

    `known` is False where no measured control says what was retrieved, as with a closed assistant: `retrieved` is
    then 0 for want of an answer, and `used` stands for it.
    """

    model: str
    condition: str
    planned: int
    measured: int
    retrieved: int
    used: int
    known: bool = True
    shown: int | None = None
    """With a guard: how many of them it let through; None without one."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls, tokens and price of the run. `cost_usd` None: some price is not known (`unpriced` calls)."""

    replies: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced: int
    retries: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything a report shows. Lists are in plan order; estimates and verdicts as `pytest_hush.gate` gives them."""

    status: RunStatus
    reason: str
    demonstration: bool
    private: bool
    plan: Plan
    thresholds: Thresholds
    mode: str
    statuses: Mapping[tuple[str, str], Mapping[str, int]]
    labels: Mapping[tuple[str, str], tuple[str, ...]]
    estimates: Sequence[Estimate]
    verdicts: Sequence[Verdict]
    controls: Sequence[ControlTally]
    spending: Spending
    instruments: Sequence[Mapping[str, Any]]
    subjects: Mapping[tuple[str, str], Mapping[str, Any]]
    screening_judge: bool
    run_folder: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    contrasts: Sequence[Contrast] = field(default_factory=tuple)
    comparisons: Sequence[Comparison] = field(default_factory=tuple)
    opinions: Opinions | None = None
    """How several judges, or several draws of one, stand to one another; None for a run that one judge scored once."""
    revision: Revision = field(default_factory=NOBODY_KNOWS.copy)
    calls: tuple[int, int] | None = None
    """Calls made and answers taken from the cache, of all roles together; None where nobody counted."""
    calibrated: Calibrated = NOTHING_KNOWN
    review: Review = NO_REVIEW

    def estimate(self, model: str, condition: str, metric: str, stratum: str = "") -> Estimate | None:
        """The estimate of one metric, or None where there is none."""
        for e in self.estimates:
            if (e.model, e.condition, e.metric, e.stratum) == (model, condition, metric, stratum):
                return e
        return None

    def arms(self) -> list[tuple[str, str]]:
        """The (model, condition name) pairs of the plan, models outermost."""
        return [(m, c.name) for m in self.plan.models for c in self.plan.conditions]


def is_demonstration(plan: Plan, records: Sequence[Record]) -> bool:
    """True when any generator of the plan is a demonstration model, by its name or by its records."""
    named = any(m.partition("/")[0] in DEMONSTRATION_MODELS for m in plan.models)
    return named or any(r.subject.get("demonstration") for r in records)


def status_of(verdicts: Sequence[Verdict], *, stopped: str = "") -> RunStatus:
    """The run's one word: the worst outcome among the verdicts that block, else whether anything was judged."""
    if stopped:
        return "stopped"
    blocking = {v.outcome for v in verdicts if v.blocks}
    if "fail" in blocking:
        return "failed"
    if "invalid" in blocking:
        return "invalid"
    if "inconclusive" in blocking:
        return "inconclusive"
    if all(v.outcome == "skipped" for v in verdicts):
        return "skipped"
    counted = [v.outcome for v in verdicts if v.severity == "block"] or [v.outcome for v in verdicts]
    return "undecided" if {*counted} - {"skipped"} == {"inconclusive"} else "passed"


def summarise(
    records: Sequence[Record],
    plan: Plan,
    thresholds: Thresholds,
    estimates: Sequence[Estimate],
    verdicts: Sequence[Verdict],
    *,
    mode: str,
    stopped: str = "",
    screening_judge: bool = False,
    run_folder: str = "",
    notes: Sequence[str] = (),
    contrasts: Sequence[Contrast] = (),
    comparisons: Sequence[Comparison] = (),
    opinions: Opinions | None = None,
    revision: Revision = NOBODY_KNOWS,
    calls: tuple[int, int] | None = None,
    calibrated: Calibrated = NOTHING_KNOWN,
    review: Review = NO_REVIEW,
) -> Summary:
    """Gather `records` (of one plan) and their verdicts. `stopped` is why the run ended early, or ''."""
    statuses: dict[tuple[str, str], Counter[str]] = {}
    labels: dict[tuple[str, str], set[str]] = {}
    subjects: dict[tuple[str, str], Mapping[str, Any]] = {}
    instruments: dict[str, Mapping[str, Any]] = {}
    for record in records:
        arm = (record.model, record.condition)
        subjects.setdefault(arm, record.subject)
        instruments.setdefault(repr(sorted(record.instrument.items())), record.instrument)
        if record.kind == "probe":
            statuses.setdefault(arm, Counter())[record.status] += 1
            label = record.subject.get("label")
            if label:
                # The memory's label knows nothing of what was added to the condition beside it.
                added = "" if "+" in str(label) else record.condition[len(record.condition.partition("+")[0]) :]
                labels.setdefault(arm, set()).add(f"{label}{added}")
    return Summary(
        status=status_of(verdicts, stopped=stopped),
        reason=stopped,
        demonstration=is_demonstration(plan, records),
        private=plan.pack.private,
        plan=plan,
        thresholds=thresholds,
        mode=mode,
        statuses=statuses,
        labels={arm: tuple(sorted(found)) for arm, found in labels.items()},
        estimates=tuple(estimates),
        verdicts=tuple(verdicts),
        controls=_controls(records, plan),
        spending=_spending(records),
        instruments=tuple(instruments.values()),
        subjects=subjects,
        screening_judge=screening_judge,
        run_folder=run_folder,
        notes=tuple(notes),
        contrasts=tuple(contrasts),
        comparisons=tuple(comparisons),
        opinions=opinions,
        revision=revision,
        calls=calls,
        calibrated=calibrated,
        review=review,
    )


def _controls(records: Sequence[Record], plan: Plan) -> list[ControlTally]:
    planned = Counter((c.model, c.condition.name) for c in plan.cases if c.kind == "control")
    rows: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.kind == "control":
            rows.setdefault((record.model, record.condition), []).append(record)
    tallies = []
    for arm, count in planned.items():
        found = [r for r in rows.get(arm, []) if r.control is not None]
        tallies.append(
            ControlTally(
                model=arm[0],
                condition=arm[1],
                planned=count,
                measured=len(found),
                retrieved=sum(bool(r.control and r.control.get("retrieved")) for r in found),
                used=sum(bool(r.control and r.control.get("used")) for r in found),
                shown=sum(bool(r.control and r.control.get("shown")) for r in found)
                if any(r.control and "shown" in r.control for r in found)
                else None,
                known=not found or any(r.control and r.control.get("retrieved") is not None for r in found),
            )
        )
    return tallies


def _spending(records: Sequence[Record]) -> Spending:
    answered = [r for r in records if r.reply]
    costs = [cost(r) for r in answered]
    unpriced = costs.count(None)
    return Spending(
        replies=len(answered),
        input_tokens=sum(r.usage.input_tokens for r in answered),
        output_tokens=sum(r.usage.output_tokens for r in answered),
        cost_usd=None if unpriced else sum(c for c in costs if c is not None),
        unpriced=unpriced,
        retries=sum(max(0, r.attempts - 1) for r in answered),
    )


def screening_lines(judges: Sequence[str], calibrated: Calibrated = NOTHING_KNOWN) -> list[str]:
    """The notice of a run whose scores a screening judge gave, with what its calibration says in the same sentence."""
    what = (
        "a demonstration model judges, and its scores say nothing"
        if any(name.startswith("local") for name in judges)
        else "the embedded judge sorts replies by rules"
    )
    told = [fit.line + (", not against people" if fit.readers == "model readers" else "") for fit in calibrated.fits]
    head = "; ".join([f"Screening judge: {what}", *(told or ["it is not calibrated against people"])])
    return [f"{head}.", *calibrated.warnings()]


def notices(summary: Summary) -> list[str]:
    """The sentences that every surface carries: demonstration, screening judge, calibration, policy, no guarantee."""
    lines = []
    if summary.demonstration:
        lines.append(DEMONSTRATION_NOTICE)
    if summary.screening_judge:
        lines += screening_lines([str(i.get("judge", "")) for i in summary.instruments], summary.calibrated)
    else:
        lines += summary.calibrated.lines()
    lines += summary.review.notes
    t = summary.thresholds
    if any(not i.get("policy") for i in summary.instruments):
        lines.append(
            f"WARNING: the judge names no policy: nothing shows that it measures {t.policy}, that of the gate file. "
            f"Give it an attribute `policy`, or --hush-policy; release mode refuses such a judge."
        )
    lines.append(f"Policy {t.policy}, thresholds {t.name} {t.version}, mode {summary.mode}. {NO_GUARANTEE}")
    return lines
