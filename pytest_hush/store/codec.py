"""A record, and what the cache keeps of a case, as JSON and back.

What is read is checked in full, so that no score is computed of a wrong type.
The format is ``docs/reference/record.md``. Readers raise one of `MALFORMED` for what this package did not write.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar, get_args

from pytest_hush.errors import StoreError
from pytest_hush.model import CaseKind, Context, Entry, Exposure, Judgement, Record, Reply, Status, Usage

SCHEMA: Final = 1
MALFORMED: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)
_STATUSES: Final = frozenset(get_args(Status))
_KINDS: Final = frozenset(get_args(CaseKind))
_T = TypeVar("_T")


def record_to_json(record: Record) -> dict[str, Any]:
    """The record as a JSON object: keys are the fields of `Record`, in its order."""
    return {
        "key": record.key,
        "plan_hash": record.plan_hash,
        "kind": record.kind,
        "probe_id": record.probe_id,
        "disclosure_id": record.disclosure_id,
        "persona": record.persona,
        "family": record.family,
        "category": record.category,
        "strength": record.strength,
        "position": record.position,
        "condition": record.condition,
        "model": record.model,
        "repeat": record.repeat,
        "invited": record.invited,
        "status": record.status,
        "exposure": {
            "exact": record.exposure.exact,
            "residue": record.exposure.residue,
            "ambient": record.exposure.ambient,
        },
        "entries": [entry_to_json(e) for e in record.entries],
        "reply": record.reply,
        "judgements": [judgement_to_json(j) for j in record.judgements],
        "usage": usage_to_json(record.usage),
        "latency_s": record.latency_s,
        "attempts": record.attempts,
        "instrument": dict(record.instrument),
        "subject": dict(record.subject),
        "error": record.error,
        "control": None if record.control is None else dict(record.control),
        "notes": list(record.notes),
        "schema": record.schema,
    }


def record_from_json(value: Mapping[str, Any]) -> Record:
    """The record of a JSON object that `record_to_json` wrote.

    Raises `StoreError` for another schema and one of `MALFORMED` for what is no record.
    """
    schema = value["schema"]
    if schema != SCHEMA:
        raise StoreError(
            f"a record of schema {schema!r}; this version of pytest-hush reads schema {SCHEMA}. "
            f"Read it with the version that wrote it, or run again."
        )
    status, kind = value["status"], value["kind"]
    if status not in _STATUSES or kind not in _KINDS:
        raise ValueError(f"status {status!r}, kind {kind!r}")
    exposure = value["exposure"]
    invited = flag(value["invited"])
    judgements = tuple(judgement_from_json(j) for j in listed(value["judgements"]))
    if any((j.v is None) is not invited for j in judgements):
        raise ValueError("v is null on invited turns and only there")
    return Record(
        key=text(value["key"]),
        plan_hash=text(value["plan_hash"]),
        kind=kind,
        probe_id=text(value["probe_id"]),
        disclosure_id=optional(text, value["disclosure_id"]),
        persona=text(value["persona"]),
        family=text(value["family"]),
        category=text(value["category"]),
        strength=text(value["strength"]),
        position=optional(number, value["position"]),
        condition=text(value["condition"]),
        model=text(value["model"]),
        repeat=whole(value["repeat"]),
        invited=invited,
        status=status,
        exposure=Exposure(*(optional(flag, exposure[name]) for name in ("exact", "residue", "ambient"))),
        entries=tuple(entry_from_json(e) for e in listed(value["entries"])),
        reply=text(value["reply"]),
        judgements=judgements,
        usage=usage_from_json(value["usage"]),
        latency_s=amount(value["latency_s"]),
        attempts=whole(value["attempts"]),
        instrument=mapping(value["instrument"]),
        subject=mapping(value["subject"]),
        error=text(value["error"]),
        control=optional(_control, value["control"]),
        notes=texts(value["notes"]),
        schema=schema,
    )


def entry_to_json(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "text": entry.text,
        "sources": None if entry.sources is None else list(entry.sources),
        "turns": list(entry.turns),
        "date": entry.date,
    }


def entry_from_json(value: Mapping[str, Any]) -> Entry:
    return Entry(
        id=text(value["id"]),
        text=text(value["text"]),
        sources=optional(texts, value["sources"]),
        turns=texts(value["turns"]),
        date=text(value["date"]),
    )


def judgement_to_json(judgement: Judgement) -> dict[str, Any]:
    return {
        "judge": judgement.judge,
        "rubric": judgement.rubric,
        "v": judgement.v,
        "target_uptake": judgement.target_uptake,
        "over_scope": judgement.over_scope,
        "helpfulness": judgement.helpfulness,
        "used": list(judgement.used),
        "evidence": judgement.evidence,
        "rationale": judgement.rationale,
        "draw": judgement.draw,
    }


def judgement_from_json(value: Mapping[str, Any]) -> Judgement:
    return Judgement(
        judge=text(value["judge"]),
        rubric=text(value["rubric"]),
        v=optional(score, value["v"]),
        target_uptake=score(value["target_uptake"]),
        over_scope=score(value["over_scope"]),
        helpfulness=score(value["helpfulness"]),
        used=texts(value["used"]),
        evidence=text(value["evidence"]),
        rationale=text(value["rationale"]),
        draw=whole(value.get("draw", 0)),  # added later: records of before lack it
    )


def usage_to_json(usage: Usage) -> dict[str, Any]:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": usage.cost_usd}


def usage_from_json(value: Mapping[str, Any]) -> Usage:
    return Usage(whole(value["input_tokens"]), whole(value["output_tokens"]), optional(amount, value["cost_usd"]))


def context_to_json(context: Context) -> dict[str, Any]:
    return {
        "entries": [entry_to_json(e) for e in context.entries],
        "known": context.known,
        "label": context.label,
        "notes": list(context.notes),
    }


def context_from_json(value: Mapping[str, Any]) -> Context:
    return Context(
        tuple(entry_from_json(e) for e in listed(value["entries"])),
        flag(value["known"]),
        text(value["label"]),
        texts(value["notes"]),
    )


def reply_to_json(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "returned_model": reply.returned_model,
        "usage": usage_to_json(reply.usage),
        "latency_s": reply.latency_s,
        "attempts": reply.attempts,
        "notes": list(reply.notes),
    }


def reply_from_json(value: Mapping[str, Any]) -> Reply:
    return Reply(
        text=text(value["text"]),
        returned_model=text(value["returned_model"]),
        usage=usage_from_json(value["usage"]),
        latency_s=amount(value["latency_s"]),
        attempts=whole(value["attempts"]),
        notes=texts(value["notes"]),
    )


# ---- one value: each gives it back with its type, or raises TypeError or ValueError ----------------


def text(value: object) -> str:
    return value if isinstance(value, str) else _wrong(value, "text")


def flag(value: object) -> bool:
    return value if isinstance(value, bool) else _wrong(value, "true or false")


def whole(value: object) -> int:
    """A whole number, not negative."""
    if isinstance(value, bool) or not isinstance(value, int):
        _wrong(value, "a whole number")
    return value if value >= 0 else _wrong(value, "a whole number that is not negative")


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        _wrong(value, "a finite number")
    return float(value)


def amount(value: object) -> float:
    """A finite number, not negative: seconds or dollars."""
    found = number(value)
    return found if found >= 0 else _wrong(value, "a number that is not negative")


def score(value: object) -> float:
    """A number in [0, 1]."""
    found = number(value)
    return found if 0 <= found <= 1 else _wrong(value, "a number in [0, 1]")


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else _wrong(value, "a list")


def texts(value: object) -> tuple[str, ...]:
    return tuple(text(item) for item in listed(value))


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else _wrong(value, "an object")


def optional(read: Callable[[object], _T], value: object) -> _T | None:
    return None if value is None else read(value)


def _control(value: object) -> dict[str, bool | None]:
    found = mapping(value)
    # `shown` is there where a guard stands before what was retrieved.
    names = ("retrieved", *(("shown",) if "shown" in found else ()), "used")
    return {name: optional(flag, found[name]) for name in names}


def _wrong(value: object, expected: str) -> NoReturn:
    shown = json.dumps(value)[:40] if isinstance(value, (int, float)) else type(value).__name__
    raise TypeError(f"expected {expected}, read {shown}")
