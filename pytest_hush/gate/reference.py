"""Another run to compare with: the baseline (the main branch) or the anchor (the last release)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pytest_hush.gate.arms import Arm
from pytest_hush.model import Case, Record
from pytest_hush.stats.judges import JOIN, UNVERSIONED, one_judgement

Role = Literal["baseline", "anchor"]
Pair = tuple[str, int]
"""(probe id, repeat): what pairs two uninvited cases of one condition."""

_UNCOMPARED: Final = frozenset({"returned_model", "demonstration", "reusable"})
"""Fields of a subject that follow from the others, or are known only after a call."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Measured cases of another run by (model, condition), with what measured them and what was under test."""

    role: Role
    source: str
    plan_hash: str
    instrument: Mapping[str, Any]
    records: Mapping[tuple[str, str], Mapping[Pair, Record]]

    def subject(self, model: str, condition: str) -> Mapping[str, Any]:
        """The subject of one of its arms; empty where it has none."""
        found = self.records.get((model, condition), {})
        return next(iter(found.values())).subject if found else {}

    def model_for(self, model: str, condition: str) -> tuple[str, str]:
        """The model of this run that answers for `model` under `condition`, and why there is none.

        The same name; else the only one that it has, since the model may be what changed.
        """
        names = sorted(m for m, c in self.records if c == condition)
        if model in names:
            return model, ""
        if len(names) == 1:
            return names[0], ""
        if not names:
            have = ", ".join(sorted({c for _, c in self.records})) or "none"
            return "", f"The {self.role} {self.source} has no condition {condition} (it has {have})."
        return "", (
            f"The {self.role} {self.source} has {', '.join(names)} under {condition}, none of which is {model}: "
            f"it is not clear which to compare with. Give one with that model, or with one model."
        )


def reference(role: Role, source: str, records: Iterable[Record]) -> Reference:
    """`records` of one run, arranged for comparison; invited turns and positive controls are left out."""
    arms: dict[tuple[str, str], dict[Pair, Record]] = defaultdict(dict)
    plan_hash, instrument = "", {}
    for record in records:
        if record.kind == "probe" and not record.invited and record.measured:
            arms[record.model, record.condition][record.probe_id, record.repeat] = record
            plan_hash, instrument = record.plan_hash, dict(record.instrument)
    return Reference(role, source, plan_hash, instrument, dict(arms))


def resolved(references: Mapping[str, Reference], aggregate: str) -> dict[str, Reference]:
    """`references` with one judgement a record, as `stats.judges.one_judgement` makes it."""
    return {
        role: replace(other, records={arm: _one_each(pairs, aggregate) for arm, pairs in other.records.items()})
        for role, other in references.items()
    }


def _one_each(pairs: Mapping[Pair, Record], aggregate: str) -> Mapping[Pair, Record]:
    return dict(zip(pairs, one_judgement(pairs.values(), aggregate), strict=True))


def refusal(other: Reference, instrument: Mapping[str, Any]) -> str:
    """Why scores of `other` may not be compared with those that `instrument` measured, or ''.

    An instrument field that the run does not know yet (before its first record) is not looked at, but for the digest:
    an instrument without that field is one whose judges were told of the background's facts alone.
    """
    from pytest_hush.run.provenance import DIGEST  # `run` imports much, and this is asked once or twice

    differing = [
        f"{name}: {other.instrument.get(name)!r} there, {instrument.get(name)!r} here"
        for name in sorted({*instrument, DIGEST})
        if (instrument.get(name) or "") != (other.instrument.get(name) or "")
    ]
    if not differing:
        return unversioned(f"The {other.role} {other.source}", other.instrument) or unversioned("This run", instrument)
    return (
        f"The {other.role} {other.source} was measured with another instrument ({'; '.join(differing)}). Scores of two "
        f"instruments cannot be compared: measure the {other.role} again with this one."
    )


def unversioned(whose: str, instrument: Mapping[str, Any]) -> str:
    """Why `instrument` cannot be shown to be the same as any other: a judge in it names no version. Else ''.

    `whose` starts the sentence. An instrument that does not know its judges yet is not looked at.
    """
    if "judge_version" not in instrument:
        return ""
    known = str(instrument["judge_version"] or "")
    if known and UNVERSIONED not in known.split(JOIN):
        return ""
    judge = instrument.get("judge") or "the judge"
    return (
        f"{whose} was measured by {judge}, which names no `version`: an edit of its code would go unnoticed, so "
        f"scores cannot be shown to be like with like. Give the judge an attribute `version`, raise it with every "
        f"edit, and measure both runs with it."
    )


def differences(other: Reference, arm: Arm) -> tuple[str, ...]:
    """What changed in the subject between `other` and `arm`, one text a field; empty where nothing did."""
    model, _ = other.model_for(arm.model, arm.condition)
    old = other.subject(model, arm.condition) if model else {}
    return changed_fields(old, next((r.subject for r in arm.records.values() if r.measured), {}))


def changed_fields(old_subject: Mapping[str, Any], new_subject: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields in which two subjects differ, one text each; empty where one of them is not known."""
    old, new = _flat(old_subject), _flat(new_subject)
    if not old or not new:
        return ()
    return tuple(
        f"{name}: {old.get(name)!r} then, {new.get(name)!r} now"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def unpaired(other: Reference, arm: Arm, cases: Iterable[Case]) -> tuple[str, ...]:
    """Ids of the planned probes without a measured twin in `other`, in plan order."""
    model, _ = other.model_for(arm.model, arm.condition)
    theirs = other.records.get((model, arm.condition), {})
    return tuple(dict.fromkeys(c.probe_id for c in cases if (c.probe_id, c.repeat) not in theirs))


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if not prefix and key in _UNCOMPARED:
            continue
        name = f"{prefix}.{key}" if prefix else str(key)
        found |= _flat(inner, name) if isinstance(inner, Mapping) else {name: inner}
    return found
