"""A case on its way to a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_hush.model import Case, Context, Exposure, Judgement, Record, Reply, Status


@dataclass(slots=True)
class Draft:
    """What is known of a case so far: a failure later on keeps what was measured before it."""

    case: Case
    status: Status = "ok"
    exposure: Exposure = field(default_factory=Exposure)
    context: Context = field(default_factory=Context)
    reply: Reply = field(default_factory=lambda: Reply("", attempts=0))
    judgements: tuple[Judgement, ...] = ()
    error: str = ""
    attempts: int = 0
    control: dict[str, bool | None] | None = None
    notes: tuple[str, ...] = ()

    def record(self, key: str, plan_hash: str, instrument: Mapping[str, Any], subject: Mapping[str, Any]) -> Record:
        """The finished record; ``returned_model`` and ``label`` of `subject` are filled in."""
        case, reply, context = self.case, self.reply, self.context
        return Record(
            key=key,
            plan_hash=plan_hash,
            kind=case.kind,
            probe_id=case.probe_id,
            disclosure_id=case.disclosure_id,
            persona=case.persona,
            family=case.family,
            category=case.category,
            strength=case.strength,
            position=case.position,
            condition=case.condition.name,
            model=case.model,
            repeat=case.repeat,
            invited=case.invited,
            status=self.status,
            exposure=self.exposure,
            entries=context.entries,
            reply=reply.text,
            judgements=self.judgements,
            usage=reply.usage,
            latency_s=reply.latency_s,
            attempts=self.attempts or reply.attempts,
            instrument=instrument,
            subject={
                **subject,
                "returned_model": reply.returned_model,
                "label": context.label or case.condition.name,
            },
            error=self.error,
            control=self.control,
            notes=(*context.notes, *reply.notes, *self.notes),
        )
