"""One measured case as it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_hush.model.case import Entry, Exposure, Usage
from pytest_hush.model.judging import Judgement
from pytest_hush.model.names import MEASURED, CaseKind, Status


@dataclass(frozen=True, slots=True)
class Record:
    """One measured case, one line of JSON (``docs/reference/record.md``). Field order is the file's."""

    key: str
    plan_hash: str
    kind: CaseKind
    probe_id: str
    disclosure_id: str | None
    persona: str
    family: str
    category: str
    strength: str
    position: float | None
    condition: str
    model: str
    repeat: int
    invited: bool
    status: Status
    exposure: Exposure
    entries: tuple[Entry, ...]
    reply: str
    judgements: tuple[Judgement, ...]
    usage: Usage
    latency_s: float
    attempts: int
    instrument: Mapping[str, Any]
    subject: Mapping[str, Any]
    error: str = ""
    control: Mapping[str, bool | None] | None = None
    """For a positive control: ``retrieved`` and ``used``, each True, False or None (unknown)."""
    notes: tuple[str, ...] = ()
    schema: int = 1

    @property
    def measured(self) -> bool:
        """True when the case carries a score: ``ok`` or ``withheld``."""
        return self.status in MEASURED

    @property
    def identity(self) -> tuple[str, str, str, bool, int]:
        """(model, condition, probe_id, invited, repeat): one case of the plan."""
        return (self.model, self.condition, self.probe_id, self.invited, self.repeat)

    @property
    def answer(self) -> tuple[Any, ...]:
        """What two measured records of one case must share, or they contradict each other: status, reply, scores.

        How long it took, what it cost and a judge's own words are no part of it.
        """
        scores = ((j.judge, j.draw, j.v, j.target_uptake, j.over_scope, j.helpfulness, j.used) for j in self.judgements)
        control = None if self.control is None else tuple(sorted(self.control.items()))
        return (self.status, self.reply, self.exposure, control, *scores)
