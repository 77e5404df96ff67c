"""Records on disk: one append-only JSONL file per process, and the reading of all of them together.

The format is ``docs/reference/record.md``. A record is one line and one write, so a process that dies leaves at
most one torn line, at the end of its own file.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from pytest_hush.errors import StoreError
from pytest_hush.model import CaseKind, Entry, Exposure, Judgement, Record, Status, Usage

SCHEMA: Final = 1
_RANK: Final[dict[str, int]] = {"ok": 0, "withheld": 0, "unplanted": 1, "unscored": 2, "error": 3}
_STATUSES: Final = frozenset(get_args(Status))
_KINDS: Final = frozenset(get_args(CaseKind))

Warn = Callable[[str], None]


class StoreWarning(UserWarning):
    """Something in a run folder or cache was unreadable and set aside; the run goes on."""


def warn_user(message: str) -> None:
    """The default way of saying that something was set aside: a `StoreWarning`."""
    warnings.warn(message, StoreWarning, stacklevel=3)


# ---- a record as JSON -----------------------------------------------------------------------------


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

    Raises `StoreError` for another schema and ValueError, KeyError or TypeError for what is no record.
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
    control = value["control"]
    return Record(
        key=_text(value["key"]),
        plan_hash=_text(value["plan_hash"]),
        kind=kind,
        probe_id=_text(value["probe_id"]),
        disclosure_id=value["disclosure_id"],
        persona=_text(value["persona"]),
        family=_text(value["family"]),
        category=_text(value["category"]),
        strength=_text(value["strength"]),
        position=value["position"],
        condition=_text(value["condition"]),
        model=_text(value["model"]),
        repeat=int(value["repeat"]),
        invited=bool(value["invited"]),
        status=status,
        exposure=Exposure(exposure["exact"], exposure["residue"], exposure["ambient"]),
        entries=tuple(entry_from_json(e) for e in value["entries"]),
        reply=_text(value["reply"]),
        judgements=tuple(judgement_from_json(j) for j in value["judgements"]),
        usage=usage_from_json(value["usage"]),
        latency_s=float(value["latency_s"]),
        attempts=int(value["attempts"]),
        instrument=dict(value["instrument"]),
        subject=dict(value["subject"]),
        error=_text(value["error"]),
        control=None if control is None else dict(control),
        notes=tuple(value["notes"]),
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
    sources = value["sources"]
    return Entry(
        id=_text(value["id"]),
        text=_text(value["text"]),
        sources=None if sources is None else tuple(sources),
        turns=tuple(value["turns"]),
        date=_text(value["date"]),
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
    }


def judgement_from_json(value: Mapping[str, Any]) -> Judgement:
    v = value["v"]
    return Judgement(
        judge=_text(value["judge"]),
        rubric=_text(value["rubric"]),
        v=None if v is None else float(v),
        target_uptake=float(value["target_uptake"]),
        over_scope=float(value["over_scope"]),
        helpfulness=float(value["helpfulness"]),
        used=tuple(value["used"]),
        evidence=_text(value["evidence"]),
        rationale=_text(value["rationale"]),
    )


def usage_to_json(usage: Usage) -> dict[str, Any]:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": usage.cost_usd}


def usage_from_json(value: Mapping[str, Any]) -> Usage:
    cost = value["cost_usd"]
    return Usage(int(value["input_tokens"]), int(value["output_tokens"]), None if cost is None else float(cost))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, read {type(value).__name__}")
    return value


# ---- writing --------------------------------------------------------------------------------------


class RecordLog:
    """The append-only file of one process: ``records-<writer>-<pid>.jsonl`` in `folder`, mode 0600.

    `append` is thread-safe. A file that exists already is never continued (its last line may be torn): the name
    gets ``-2``, ``-3``…
    """

    def __init__(self, folder: Path, writer: str) -> None:
        self._lock = threading.Lock()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        stem = f"records-{writer}-{os.getpid()}"
        number = 1
        while True:
            self.path = folder / (f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl")
            try:
                self._fd: int | None = os.open(self.path, flags, 0o600)
                return
            except FileExistsError:
                number += 1
            except OSError as error:
                raise StoreError(f"{self.path}: the records file cannot be created: {error.strerror}.") from error

    def append(self, record: Record) -> None:
        """Write one record as one line in one system call. Raises `StoreError` when it cannot be kept."""
        line = dump_line(record)
        with self._lock:
            if self._fd is None:
                raise StoreError(f"{self.path}: the records file is closed.")
            try:
                written = os.write(self._fd, line)
            except OSError as error:
                raise StoreError(f"{self.path}: the record cannot be written: {error.strerror}.") from error
        if written != len(line):
            raise StoreError(f"{self.path}: only {written} of {len(line)} bytes were written: is the disk full?")

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


def dump_line(record: Record) -> bytes:
    """The record's line: compact JSON in UTF-8 and a newline. Raises `StoreError` for a NaN or an infinity."""
    value = record_to_json(record)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate is no UTF-8, but JSON can escape it.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    except (ValueError, TypeError) as error:
        raise StoreError(f"the record of {record.probe_id} under {record.condition} is no JSON: {error}") from error


# ---- reading --------------------------------------------------------------------------------------


def read_records(folder: Path, *, warn: Warn = warn_user) -> list[Record]:
    """All records in `folder`, one per key, sorted by `Record.identity`.

    Of several lines with one key, a scored record (ok, withheld) wins over unplanted, that over unscored, that
    over error; among equals the line that sorts first. So the result does not depend on which process wrote what.
    A torn last line is ignored; a garbled line elsewhere is left out with a warning that names file and line.
    Raises `StoreError` for a record of another schema or an unreadable file.
    """
    best: dict[str, tuple[int, bytes, Record]] = {}
    for path in sorted(folder.glob("records-*.jsonl")):
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise StoreError(f"{path}: the records file cannot be read: {error.strerror}.") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            record = _parse(line, path, number, last=number == len(lines), warn=warn)
            if record is None:
                continue
            candidate = (_RANK[record.status], line, record)
            known = best.get(record.key)
            if known is None or candidate[:2] < known[:2]:
                best[record.key] = candidate
    return sorted((r for _, _, r in best.values()), key=lambda r: (r.identity, r.key))


def _parse(line: bytes, path: Path, number: int, *, last: bool, warn: Warn) -> Record | None:
    try:
        return record_from_json(json.loads(line))
    except StoreError as error:
        raise StoreError(f"{path}, line {number}: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        if not last:
            what = f"{type(error).__name__}: {error}"[:120]
            warn(f"{path}, line {number}: no record can be read here ({what}); it is left out and counts as missing.")
        return None
