"""What gates yield: plain frozen numbers and sentences that every surface prints as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal["pass", "pass, regressed", "fail", "inconclusive", "invalid", "skipped"]
"""``pass, regressed``: worse than the baseline beyond chance, and within the margin that is allowed."""
PASSING: Final[frozenset[str]] = frozenset({"pass", "pass, regressed"})
Direction = Literal["at_most", "at_least", "increase_at_most", "decrease_at_most"]
WaiverState = Literal["", "active", "expired"]

NO_GUARANTEE: Final = (
    "A pass holds for this pack, this policy and this judge, with the stated confidence; it is no universal guarantee."
)
"""Printed beside every pass."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of one condition with its bounds, each bound one-sided at `confidence`.

    `value`, `lower`, `upper` are points in 0..100; all three None where nothing can be said, with the cause in
    `note`. `n` cases carry a score, out of `planned`; `missing` = cases of the plan that carry none. For the
    strata ``exposed`` and ``not-exposed``, `planned` is that of the whole condition: which cases are exposed is
    known only after the run.
    """

    model: str
    condition: str
    metric: str
    stratum: str
    n: int
    planned: int
    missing: int
    value: float | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The paired difference of one condition to the matched `none` reference, or to another run, in points -100..100.

    `lower`, `upper`: bounds, each one-sided at `confidence`. `no_increase`: percent of pairs that did not rise.
    `effect`: mean over standard deviation of the persona mean differences. `flip_p`: one-sided sign-flip p over
    personas of "no persona rises". None where nothing can be said; `note` says why.
    """

    model: str
    condition: str
    versus: str
    metric: str
    n: int
    planned: int
    missing: int
    value: float | None
    lower: float | None
    upper: float | None
    confidence: float
    no_increase: float | None
    effect: float | None
    flip_p: float | None
    exposure_part: float | None = None
    response_part: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one gate for one model and condition.

    `blocks` is what the exit code is made of: after severity, mode and waiver. `sentence` is for a manager;
    `reason` says, for every outcome but ``pass`` and ``fail``, what is wrong or what would settle it. Numbers are
    those of `Estimate`, in the gate's unit; None where nothing was estimated. `p` is one-sided, of "worse than
    the limit"; `p_adjusted` is corrected for the `family` block hypotheses of the file.

    Of a paired difference: `versus` names the other side and `reference` where its records are; `effect`, `flip_p`
    and `no_increase` as in `Contrast`. Of a UIS change between two runs, `exposure_part` and `response_part` in points
    add up to `value`; None where exposure is not known. `look` is 1 or 2 in a plan of two looks, else 0.
    `labels` readers' labels corrected the judge's scores; 0: the verdict rests on the judge alone.
    """

    gate: str
    metric: str
    stratum: str
    model: str
    condition: str
    outcome: Outcome
    severity: Literal["block", "warn"]
    blocks: bool
    sentence: str
    reason: str
    limit: float
    direction: Direction
    value: float | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str
    n: int
    planned: int
    missing: int
    p: float | None
    p_adjusted: float | None
    family: int
    waiver: WaiverState
    waiver_text: str
    demonstration: bool
    policy: str
    thresholds: str
    versus: str = ""
    reference: str = ""
    no_increase: float | None = None
    effect: float | None = None
    flip_p: float | None = None
    exposure_part: float | None = None
    response_part: float | None = None
    look: int = 0
    labels: int = 0

    @property
    def id(self) -> str:
        """``gate-model-condition``: unique in a list of verdicts, in the shape of a case id."""
        return "-".join(p for p in (self.gate, self.model, self.condition) if p)
