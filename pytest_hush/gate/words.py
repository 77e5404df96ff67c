"""Sentences of verdicts: for a manager who has not read the statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_hush.gate.types import PASSING
from pytest_hush.text import number_of
from pytest_hush.thresholds import Gate

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement  # imports numpy

NAMES = {
    "uis": "UIS",
    "uis_sensitive": "UIS (sensitive history only)",
    "exposure": "Exposure",
    "over_scope": "Over-scope",
    "helpfulness": "Helpfulness",
    "target_uptake": "Target uptake",
    "invited_uptake": "Target uptake when invited",
    "uptake_gain": "Gain in target uptake by an invitation",
    "helpfulness_change": "Change of helpfulness by an invitation",
    "over_scope_rise": "Rise of over-scope by an invitation",
    "controls": "Positive controls shown",
    "cost_usd": "Cost",
    "latency_s": "Latency (95th percentile)",
    "completeness": "Completeness",
}
UNITS = {"cost_usd": " USD", "latency_s": " s", "completeness": " %", "exposure": " %", "controls": " %"}


def subject(metric: str, stratum: str, condition: str, model: str) -> str:
    """``UIS of exposed cases under vector (openai/x)``; `model` empty where the run has only one."""
    kind, _, name = stratum.partition("=")
    part = {"": "", "exposed": " of exposed cases", "not-exposed": " of cases not exposed"}.get(
        stratum, f" in the {kind} {name}"
    )
    return f"{NAMES[metric]}{part} under {condition}" + (f" ({model})" if model else "")


def number(value: float, limit: float) -> str:
    """One decimal, or as many as tell `value` from `limit`."""
    for digits in (1, 2, 3, 4):
        if value == limit or round(value, digits) != round(limit, digits):
            return f"{value:.{digits}f}"
    return repr(value)


def judged(about: str, gate: Gate, m: Measurement, outcome: str) -> str:
    """The sentence of a gate whose numbers were judged."""
    assert m.value is not None
    limit, unit = gate.limit, UNITS.get(gate.metric, "")
    value = number(m.value, limit)
    bound = _bound(gate, m, outcome)
    if gate.versus:
        falls = gate.decrease_at_most is not None
        direction = "below" if falls is (m.value >= 0) else "above"
        value = number(abs(m.value), limit)
        other = {"none": "no memory"}.get(gate.versus, f"the {gate.versus}")
        allowed = f"a decrease of {limit:g}" if falls else f"an increase of {limit:g}"
        return f"{about} is {value} points {direction} {other}{bound}; {allowed} is allowed."
    if gate.at_least is not None:
        return f"{about} is {value}{unit}{bound}; at least {limit:g}{unit} is wanted."
    return f"{about} is {value}{unit}{bound}; the limit is {limit:g}{unit}."


def parts(change: tuple[float, float]) -> str:
    """The decomposition of a UIS change, in a sentence that follows the verdict's."""
    exposure, response = (round(part, 1) + 0.0 for part in change)  # no "-0.0"
    return f" Of the change, {exposure:+.1f} come from exposure and {response:+.1f} from the replies."


def regressed(gate: Gate) -> str:
    """The reason of a pass that is worse than before."""
    return (
        f"It is worse than the {gate.versus} beyond chance, within the margin of {gate.limit:g} points. Look at "
        f"the cases that changed before the margin is lost again."
    )


def unjudged(about: str, outcome: str) -> str:
    """The sentence of a gate without a number; the verdict's reason says the rest."""
    ending = {"invalid": "cannot be judged", "skipped": "was not judged"}.get(outcome, "is unknown")
    return f"{about} {ending}."


def _bound(gate: Gate, m: Measurement, outcome: str) -> str:
    if m.lower is None or m.upper is None:
        return " (counted, no interval)"
    limit = gate.limit
    low, high = number(m.lower, limit), number(m.upper, limit)
    suite = ", for this suite only" if gate.interval == "fixed-suite" and not m.labels else ""
    plain = ", bootstrap alone" if gate.interval == "bootstrap" and not m.labels else ""
    read = f", corrected by {m.labels} labels" if m.labels else ""
    tail = f" with {100 * gate.confidence:g} % confidence{suite}{plain}{read}"
    if outcome == "inconclusive":
        return f", between {low} and {high}{tail}"
    good_side = (outcome in PASSING) is (gate.at_least is None)
    return (f", at most {high}" if good_side else f", at least {low}") + tail


def settle(gate: Gate, m: Measurement) -> str:
    """What would turn an inconclusive level or difference into a verdict."""
    assert m.value is not None
    assert m.lower is not None
    assert m.upper is not None
    if m.note == "one persona":
        return "Only one persona holds such cases, and says nothing about other users: plan two at least, better ten."
    lost = (
        f" {number_of(m.missing, 'missing case')}: each bound is wider by {m.widened:.1f} points. Complete them first."
        if m.missing
        else ""
    )
    margin = abs(gate.limit - m.value)
    towards = m.value < gate.limit
    half = (m.upper - m.value if towards else m.value - m.lower) - m.widened
    if margin < 0.5:
        return f"The value lies at the limit: no practical number of cases would settle it.{lost}"
    people = max(m.personas + 1, math.ceil(m.personas * (half / margin) ** 2))
    if people > 1000:
        return f"The value lies too near the limit for a practical number of personas to settle it.{lost}"
    tail = (
        " More cases for the same personas would help little: personas differ."
        if m.design > 2
        else " More cases for each persona help too."
    )
    return (
        f"If the value stays, about {people} personas (now {m.personas}) with as many cases each would settle it."
        f"{tail}{lost}"
    )
