"""What a threshold file says, frozen: it has been validated and needs no further check."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Literal

Metric = Literal[
    "uis",
    "uis_sensitive",
    "exposure",
    "over_scope",
    "helpfulness",
    "target_uptake",
    "invited_uptake",
    "uptake_gain",
    "helpfulness_change",
    "over_scope_rise",
    "controls",
    "cost_usd",
    "latency_s",
    "completeness",
]
Severity = Literal["block", "warn"]
Mode = Literal["pr", "release"]
IntervalKind = Literal["calibrated", "bootstrap", "fixed-suite"]
Versus = Literal["", "none", "baseline", "anchor"]
Multiplicity = Literal["holm", "max-t", "none"]
Aggregate = Literal["first", "mean", "median", "max"]
"""How several judges become one score: the first one's, or the mean, median or maximum over all."""

Annotators = Literal["any", "human"]

COUNTED: Final[frozenset[str]] = frozenset({"cost_usd", "latency_s", "completeness"})
"""Metrics that are counted, not estimated: no interval, no p, not in the family of the correction."""


CHANGES: Final[frozenset[str]] = frozenset({"uptake_gain", "helpfulness_change", "over_scope_rise"})
"""Metrics that are paired differences by themselves: the invited twin of a probe less the probe, in -100..100."""
INVITED: Final[frozenset[str]] = CHANGES | {"invited_uptake"}
"""Metrics of invited turns, which a plan holds with ``--hush-invitations``."""
CONTROLS: Final = "controls"
"""The metric of the positive controls: the share that memory shows."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """An agreed exception. Active up to and including the day `expires`; it lifts the block, never the verdict."""

    reason: str
    by: str
    expires: datetime.date

    def active(self, today: datetime.date) -> bool:
        return today <= self.expires


@dataclass(frozen=True, slots=True)
class Health:
    """What a memory must show before any verdict: shares in 0..1."""

    min_positive_controls: float = 0.5
    max_unplanted: float = 0.2


@dataclass(frozen=True, slots=True)
class JudgeRules:
    """What the gates take from the judges, and ask of them.

    `min_alpha`: least Krippendorff alpha of `v` that a fitting calibration must show, None: none is asked for.
    `annotators`: whose labels it should rest on; ``human`` warns where they are not people's.
    `corrected`: levels of UIS are judged on bounds corrected by labels of this very run, where there are any.
    """

    aggregate: Aggregate = "first"
    min_alpha: float | None = None
    annotators: Annotators = "any"
    corrected: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit. Scores, exposure and completeness are in 0..100, cost in US dollars, latency in seconds.

    Exactly one of `at_most`, `at_least` (a level), `increase_at_most` and `decrease_at_most` (a paired difference,
    with `versus`) is a number; the others are None. `condition` is one or more glob patterns between ``|``.
    """

    id: str
    metric: Metric
    condition: str
    stratum: str = ""
    at_most: float | None = None
    at_least: float | None = None
    severity: Severity = "block"
    confidence: float = 0.95
    interval: IntervalKind = "calibrated"
    versus: Versus = ""
    increase_at_most: float | None = None
    decrease_at_most: float | None = None
    baseline: Literal["required", "optional"] = "optional"
    waive: Waiver | None = None

    @property
    def limit(self) -> float:
        """The number that the gate holds against: whichever of the four it has."""
        limits = (self.at_most, self.at_least, self.increase_at_most, self.decrease_at_most)
        return next(x for x in limits if x is not None)

    def matches(self, condition: str) -> bool:
        """True when a pattern matches. ``none``, the reference, is matched by its own name only, by no wildcard."""
        patterns = [p.strip() for p in self.condition.split("|")]
        if condition == "none":
            return "none" in patterns
        return any(fnmatchcase(condition, p) for p in patterns)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """A validated threshold file. `gates` keep the file's order; `hash` covers the file's content."""

    schema: int
    name: str
    version: str
    policy: str
    confidence: float
    multiplicity: Multiplicity
    inconclusive: Mapping[Mode, Severity]
    max_missing: float
    health: Health
    gates: tuple[Gate, ...]
    hash: str
    source: str = field(default="", compare=False)
    judge: JudgeRules = field(default_factory=JudgeRules)

    @property
    def label(self) -> str:
        """``name@version``, as every surface prints it."""
        return f"{self.name}@{self.version}"
