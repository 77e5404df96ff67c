"""The words that the terminal, Markdown, HTML and annotations share, so that no surface has words of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_hush.gate import PASSING, Outcome, Verdict
from pytest_hush.report.summary import RunStatus, Summary
from pytest_hush.text import number_of

MARK: Final[Mapping[Outcome, str]] = {
    "pass": "PASS",
    "pass, regressed": "PASS, REGRESSED",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "invalid": "INVALID",
    "skipped": "SKIPPED",
}
_URGENCY: Final[tuple[Outcome, ...]] = ("fail", "invalid", "inconclusive", "pass, regressed", "skipped", "pass")
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


def left_open(summary: Summary) -> int:
    """How many gates that can block are inconclusive in a run that passed: what its mode let through undecided."""
    if summary.status != "passed":
        return 0
    return sum(v.severity == "block" and v.outcome == "inconclusive" for v in summary.verdicts)


def word(summary: Summary) -> str:
    """The run's word on every surface: ``PASSED, 2 INCONCLUSIVE`` where gates that can block were not decided."""
    undecided = left_open(summary)
    return f"{WORD[summary.status]}, {undecided} {MARK['inconclusive']}" if undecided else WORD[summary.status]


def headline(summary: Summary) -> str:
    """The run's one word and what it is made of; a demonstration says so in the same breath."""
    verdicts = summary.verdicts
    outcomes = Counter[Outcome](v.outcome for v in verdicts)
    blocking = sum(v.blocks for v in verdicts)
    blocks = f"{blocking} of {number_of(len(verdicts), 'verdict')} {'blocks' if blocking == 1 else 'block'}"
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
        tail = f"none of {number_of(len(verdicts), 'verdict')} blocks ({told})"
    head = f"{word(summary)} (demonstration)" if summary.demonstration else word(summary)
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


def together(verdicts: Sequence[Verdict]) -> list[list[Verdict]]:
    """`by_urgency`, those that were skipped for one reason in one group: a shard skips every gate for the same."""
    groups: dict[object, list[Verdict]] = {}
    for n, v in enumerate(by_urgency(verdicts)):
        alike = v.outcome == "skipped" and v.reason and not v.waiver
        groups.setdefault(v.reason if alike else n, []).append(v)
    return list(groups.values())


def by_urgency(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """What blocks first; on either side what fails, is invalid, inconclusive, regressed, was not judged, passed.

    The one order of every surface; verdicts that are alike keep the order of the file.
    """
    return sorted(verdicts, key=lambda v: (not v.blocks, _URGENCY.index(v.outcome)))
