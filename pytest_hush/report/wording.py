"""The words that the terminal, Markdown, HTML and annotations share, so that no surface has words of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_hush.gate import PASSING, Outcome, Verdict
from pytest_hush.report.summary import RunStatus, Summary

MARK: Final[Mapping[Outcome, str]] = {
    "pass": "PASS",
    "pass, regressed": "PASS, REGRESSED",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "invalid": "INVALID",
    "skipped": "SKIPPED",
}
WORD: Final[Mapping[RunStatus, str]] = {
    "passed": "PASSED",
    "undecided": "NOT DECIDED",
    "failed": "FAILED",
    "invalid": "INVALID",
    "inconclusive": "INCONCLUSIVE",
    "skipped": "NO VERDICT",
    "stopped": "NO VERDICT",
    "error": "FAILED",
}


def headline(summary: Summary) -> str:
    """The run's one word and what it is made of; a demonstration says so in the same breath."""
    verdicts = summary.verdicts
    outcomes = Counter[Outcome](v.outcome for v in verdicts)
    blocking = sum(v.blocks for v in verdicts)
    blocks = f"{blocking} of {len(verdicts)} verdicts {'blocks' if blocking == 1 else 'block'}"
    told = ", ".join(f"{outcomes[o]} {MARK[o]}" for o in MARK if outcomes[o])
    tail = {
        "passed": "",
        "undecided": f"every gate that counts is inconclusive, and {_lets_pass(summary)} ({told})",
        "failed": blocks,
        "invalid": f"{blocks}, because it cannot be judged" if blocking == 1 else blocks,
        "inconclusive": blocks,
        "skipped": "no gate that blocks was judged" if outcomes["skipped"] < len(verdicts) else "no gate was judged",
        "stopped": "the run stopped early",
        "error": "the test session failed, though no verdict blocks",
    }[summary.status]
    if summary.status == "passed" and outcomes["pass"] < len(verdicts):
        # A warning, a waived failure or a skipped gate is no pass, and the word alone would hide it.
        tail = f"none of {len(verdicts)} verdicts blocks ({told})"
    word = WORD[summary.status]
    head = f"{word} (demonstration)" if summary.demonstration else word
    return f"{head}: {tail}" if tail else head


def _lets_pass(summary: Summary) -> str:
    """Why gates without a decision do not fail the run."""
    blocks = dict(summary.thresholds.inconclusive).get("release" if summary.mode == "release" else "pr") == "block"
    counted = any(v.severity == "block" for v in summary.verdicts)
    return "none blocks" if blocks or not counted else f"{summary.mode} mode lets that pass"


def because(summary: Summary) -> str:
    """Why the run has its word, in one sentence: what stopped it, the first verdict that blocks, or that none does."""
    if summary.status in ("stopped", "error", "skipped") and summary.reason:
        return summary.reason
    blocking = [v for v in by_urgency(summary.verdicts) if v.blocks]
    if blocking:
        first = blocking[0]
        return sentence(first) if first.outcome == "fail" else f"{sentence(first)} {first.reason}".strip()
    if summary.status == "skipped":
        skipped = next((v.reason for v in summary.verdicts if v.reason), "")
        return f"No gate was judged. {skipped}".strip()
    if summary.status == "undecided":
        open_ones = [v for v in by_urgency(summary.verdicts) if v.outcome == "inconclusive"]
        first = next((v for v in open_ones if v.severity == "block"), open_ones[0])
        return f"Nothing was decided. {sentence(first)} {first.reason}".strip()
    worst = by_urgency(summary.verdicts)[0]
    return "Every gate passed." if worst.outcome == "pass" else f"No gate blocks. {mark(worst)}: {sentence(worst)}"


def mark(verdict: Verdict) -> str:
    """The verdict's one word, with what keeps it from blocking."""
    word = MARK[verdict.outcome]
    waived = verdict.waiver == "active"
    lifted = waived and verdict.severity == "block"
    if not (verdict.blocks or lifted or verdict.outcome in PASSING | {"skipped"}):
        word += " (warns)"
    return f"{word} (waived)" if waived else word


def sentence(verdict: Verdict) -> str:
    """The verdict's sentence; that it is a demonstration is said once, for all of them."""
    return verdict.sentence.removeprefix("Demonstration model: ")


def detail(verdict: Verdict) -> str:
    """What is wrong or would settle it, and the waiver; empty where the sentence says it all."""
    reason = "" if verdict.reason in verdict.sentence else verdict.reason
    return " ".join(part for part in (reason, verdict.waiver_text) if part)


def by_urgency(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """What blocks first, then what warns, then what regressed, was not judged, passed."""
    return sorted(verdicts, key=_urgency)


def _urgency(verdict: Verdict) -> int:
    if verdict.blocks:
        return 0
    return {"pass, regressed": 2, "skipped": 3, "pass": 4}.get(verdict.outcome, 1)
