"""Redaction: what a report may say of a run whose texts must stay on the machine that measured it.

Ids, scores, flags, counts, settings and sentences of verdicts stay. Probes, disclosures, memory entries, replies,
evidence, rationales, notes and the text of errors go: a server's words or an exception may quote any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pytest_hush.model import Record

BY_OPTION: Final = "Redacted on request: texts of cases are left out."
BY_PACK: Final = "The pack is private: texts of its cases are left out."
ELSEWHERE: Final = "See `hush show` on the machine that measured."

# What is said instead of an error. Nothing of a match is repeated but the status of an answer, which is a number.
_KINDS: Final = (
    (re.compile(r"the memory gives neither the disclosure nor the harmless fact"), "the planted session was lost"),
    (re.compile(r"\banswered with an empty text\b"), "an empty answer"),
    (re.compile(r"\banswered (?P<status>[1-5]\d\d)\b"), "the server answered {status}"),
    (re.compile(r"\bno answer (?:from|for)\b|\btimed out\b|\bTimeoutError\b"), "no answer in time"),
    (re.compile(r"\bcannot be reached\b|\bthe connection to \S+ failed\b"), "the server cannot be reached"),
    (re.compile(r"^(?P<told>stopping after \d+ failures?)$"), "{told}"),
    (re.compile(r"\.jsonl: the record of a case cannot be written: "), "a record cannot be kept (is the disk full?)"),
    (re.compile(r"^--hush-max-cost=.*: the budget file "), "the budget file cannot be used (is the disk full?)"),
    (re.compile(r"^--hush-max-cost="), "the limit of --hush-max-cost was reached"),
    (re.compile(r"^judge \S+: .*after one re-ask\b"), "an unreadable judgement"),
    # How `raised` is quoted for models, judges, memories and memory systems: a class and a line, no word of its text.
    (
        re.compile(
            r"^(?:\S+: your function|judge \S+|memory \S+: its code|\S+: while it [\w ]+, the library) "
            r"raised (?P<what>\w+(?: at [\w.<>-]+:\d+)?)(?=[:.;]|$)"
        ),
        "{what} was raised",
    ),
)

_UNKNOWN: Final = "an error whose text is kept in the local records"
# What was said once is said again as it is.
_PARTS: Final = {"status": r"[1-5]\d\d", "told": "(?!)", "what": r"\w+(?: at [\w.<>-]+:\d+)?"}
_SAID: Final = re.compile("|".join([_UNKNOWN, *(kind.format(**_PARTS) for _, kind in _KINDS)]))
_ROW: Final = re.compile(r"(\d+ cases in a row failed alike): (.+)", re.DOTALL)


def why(*, private: bool, asked: bool) -> str:
    """Why the texts are left out, in one sentence; empty where they are not."""
    if private:
        return BY_PACK
    return BY_OPTION if asked else ""


def error_kind(text: str) -> str:
    """What may be said of an error: its kind where it is a known one, never a word of its text. '' for ''."""
    if not text:
        return ""
    if _SAID.fullmatch(text):
        return text
    if found := _ROW.match(text):
        return f"{found[1]}: {error_kind(found[2])}"
    for pattern, kind in _KINDS:
        if found := pattern.search(text):
            return kind.format(**found.groupdict())
    return _UNKNOWN


def without_texts(record: Record) -> Record:
    """`record` as reports may use it under redaction; what is counted (replies, entries) stays countable.

    The reply is a mark and entries lose text and place, since spending and the memory's health count them.
    """
    return replace(
        record,
        entries=tuple(replace(e, id="", text="", turns=(), sources=None, date="") for e in record.entries),
        reply="(redacted)" if record.reply else "",
        judgements=tuple(replace(j, evidence="", rationale="") for j in record.judgements),
        error=error_kind(record.error),
        notes=(),
    )


def redacted(records: Iterable[Record], reason: str) -> list[Record]:
    """`records` as they are where `reason` is empty, else each without its texts."""
    return [without_texts(r) for r in records] if reason else list(records)
