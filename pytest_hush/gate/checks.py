"""What must hold before any number is judged: the whole plan, few missing cases, a memory that is alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pytest_hush.gate.arms import Arm
from pytest_hush.model import Case, Condition, Record
from pytest_hush.plan import identity
from pytest_hush.thresholds import Health

Unjudged = Literal["invalid", "skipped", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a gate cannot be judged."""

    outcome: Unjudged
    reason: str


def selection(arm: Arm, cases: tuple[Case, ...]) -> Finding | None:
    """Skipped when a selection or shard left out some of `cases`, or every positive control."""
    left = sum(identity(c) in arm.deselected for c in cases)
    if left:
        return Finding(
            "skipped",
            f"Judged only on the whole plan: {len(cases) - left} of {len(cases)} cases were selected "
            f"(-k, --lf, a path or a shard).",
        )
    if arm.controls and all(identity(c) in arm.deselected for c in arm.controls):
        return Finding(
            "skipped",
            f"Judged only with the memory's health: none of {len(arm.controls)} positive controls was selected "
            f"(-k, --lf, a path or a shard).",
        )
    return None


def missing(arm: Arm, cases: tuple[Case, ...], lost: int, max_missing: float, *, partner: str = "") -> Finding | None:
    """Invalid when more than the share `max_missing` of `cases` carries no usable score (`lost` of them).

    `partner` names the other side of a paired difference: then a case without a measured twin there is lost too.
    """
    if not arm.records:
        return Finding("invalid", f"There is no record at all of {len(cases)} planned cases: nothing was measured.")
    if lost <= max_missing * len(cases):
        return None
    measured = sum(r.measured for r in arm.found(cases))
    if partner in ("baseline", "anchor") and len(cases) - measured <= max_missing * len(cases):
        return Finding(
            "invalid",
            f"{lost} of {len(cases)} planned cases have no measured twin in the {partner}; at most "
            f"{100 * max_missing:g} % may be missing. Measure both on one plan: the same --hush-sample, --hush-seed, "
            f"--hush-repeats.",
        )
    return Finding(
        "invalid",
        f"{lost} of {len(cases)} planned cases carry no score ({_causes(arm, cases, lost)}); at most "
        f"{100 * max_missing:g} % may be missing. {_most_frequent_error(arm.found(cases))}"
        f"{_advice(arm, cases, lost)}",
    )


def _advice(arm: Arm, cases: tuple[Case, ...], lost: int) -> str:
    """What would give the lost cases a score. A resumed run finds an `unplanted` session lost once more."""
    unplanted = sum(r.status == "unplanted" for r in arm.found(cases))
    ways = ["Complete the run with --hush-resume."] if lost > unplanted else []
    ways += ["Look into the memory's ingest and retrieval: a lost session is not measured."] if unplanted else []
    return " ".join(ways)


def _causes(arm: Arm, cases: tuple[Case, ...], lost: int) -> str:
    found = arm.found(cases)
    counts = Counter(r.status for r in found if not r.measured)
    parts = [f"{counts[s]} {s}" for s in ("error", "unscored", "unplanted") if counts[s]]
    unusable = lost - counts.total()
    if unusable > 0:
        parts.append(f"{unusable} measured, but without this score or its pair")
    return ", ".join(parts)


def _most_frequent_error(records: Iterable[Record]) -> str:
    texts = Counter(" ".join(r.error.split()) for r in records if r.error and not r.measured)
    if not texts:
        return ""
    text, times = min(texts.items(), key=lambda item: (-item[1], item[0]))
    text = text.rstrip(" .") if len(text) <= 200 else f"{text[:200].rstrip(' .')}.."
    return f"Most frequent error ({times} times): {text}. "


def health(arm: Arm, health: Health) -> Finding | None:
    """Invalid when the memory is dead, empty, or lost what was planted: silence is no merit then."""
    if arm.condition == "none":
        return None
    # One that shows no context at all (a closed assistant) renders nothing that could be seen.
    shows = [r for r in arm.records.values() if r.measured and (r.exposure.exact is not None or r.entries)]
    # A guard may rightly keep everything back: of what stands behind it the positive controls tell.
    if shows and not any(r.entries for r in shows) and not Condition.parse(arm.condition).guarded:
        return Finding(
            "invalid",
            f"The memory is dead or empty: not one entry was rendered in {len(shows)} cases. A memory that holds "
            f"nothing is silent for the wrong reason. Look into its ingest and retrieval.",
        )
    controls = [c for c in arm.controls if identity(c) not in arm.deselected]
    if not controls:
        return None
    retrieved = sum(_retrieved(r) for r in arm.found(controls))
    if retrieved < health.min_positive_controls * len(controls):
        return Finding(
            "invalid",
            f"The memory may be dead: only {retrieved} of {len(controls)} positive controls (a direct question about a "
            f"harmless fact) were answered from it, at least {100 * health.min_positive_controls:g} % are needed.",
        )
    unplanted = sum(r.status == "unplanted" for r in arm.found(arm.cases))
    if unplanted > health.max_unplanted * len(arm.cases):
        return Finding(
            "invalid",
            f"The memory lost what was planted: in {unplanted} of {len(arm.cases)} cases neither the disclosure nor "
            f"its session can be found, at most {100 * health.max_unplanted:g} % are allowed.",
        )
    return None


def _retrieved(record: Record) -> bool:
    """Whether a positive control worked. Where no context is shown, the reply's use of the fact stands for it."""
    if not record.measured or record.control is None:
        return False
    retrieved = record.control.get("retrieved")
    return bool(record.control.get("used") if retrieved is None else retrieved)
