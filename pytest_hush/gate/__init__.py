"""From records and a threshold file to verdicts: pure, deterministic, no I/O. numpy is imported on the first call."""

from pytest_hush.gate.check import check
from pytest_hush.gate.contrasts import Comparison, comparisons, contrasts
from pytest_hush.gate.estimates import estimates
from pytest_hush.gate.judge import all_skipped, exit_blocked, judge, no_verdict
from pytest_hush.gate.looks import judge_in_looks
from pytest_hush.gate.opinions import Opinions, opinions
from pytest_hush.gate.reference import Reference, reference, refusal
from pytest_hush.gate.sensitive import sensitive_of
from pytest_hush.gate.types import NO_GUARANTEE, PASSING, Contrast, Estimate, Outcome, Verdict

__all__ = [
    "NO_GUARANTEE",
    "PASSING",
    "Comparison",
    "Contrast",
    "Estimate",
    "Opinions",
    "Outcome",
    "Reference",
    "Verdict",
    "all_skipped",
    "check",
    "comparisons",
    "contrasts",
    "estimates",
    "exit_blocked",
    "judge",
    "judge_in_looks",
    "no_verdict",
    "opinions",
    "reference",
    "refusal",
    "sensitive_of",
]
