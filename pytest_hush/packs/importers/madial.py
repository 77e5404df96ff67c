"""MADial-Bench (He et al. 2025): ``MADial-Bench-en-dialogue.json``, short talks of two users with an assistant.

A talk is a session, a ``user-id`` a persona. The talks have no dates: they are dated one a day in the file's order,
from a nominal day, and the notes say so. Annotations (`test-turn`, `relevant-id`) and the memory file are not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pytest_hush.model import Persona, Role, Session, Turn
from pytest_hush.packs.importers.background import Reading, id_safe
from pytest_hush.packs.importers.reading import json_lines, refuse
from pytest_hush.packs.schema import DATE_FORMAT

VERSION: Final = "1"
LICENCE: Final = "MIT"
PRIVATE: Final = False
PARTNER: Final = "Assistant"

_WHAT: Final = "MADial-Bench's dialogue file"
_FIRST_DAY: Final = datetime(2024, 1, 1, 12)
_TAGGED: Final = re.compile(r'\s*<([^<>:]{1,40})>\s*:\s*"?(.*?)"?\s*', re.DOTALL)
_MARKERS: Final = frozenset(("<BOD>", "<EOD>"))


def recognises(body: bytes) -> bool:
    """True for a body that looks like MADial-Bench's dialogues, also when it is cut off."""
    return body.lstrip()[:1] == b"{" and b'"dialogue"' in body and b"<BOD>" in body


def read(path: Path, body: bytes) -> Reading:
    """A persona for each user, in order of their ids, and notes. Raises one `PackError` for another file."""
    talks: dict[str, list[list[tuple[str, str]]]] = defaultdict(list)
    untagged: Counter[str] = Counter()
    for where, row in json_lines(path, body, _WHAT):
        user, turns = row.get("user-id"), row.get("dialogue")
        if not isinstance(user, int) or isinstance(user, bool):
            refuse(path, f"{where}, `user-id`", user, "a whole number")
        if not isinstance(turns, list) or not turns:
            refuse(path, f"{where}, `dialogue`", turns, "a list of turns")
        spoken = _turns(path, where, turns, untagged, f"user-{user}")
        if spoken:
            talks[f"user-{user}"].append(spoken)
    if not talks:
        refuse(path, "the file", "no dialogue", f"{_WHAT}, one object a line")
    notes = [f"{sum(map(len, talks.values()))} undated talks dated one a day from {_FIRST_DAY:%Y-%m-%d}"]
    notes += [
        f"{key}: {count} turns without a speaker given to the one whose turn it was"
        for key, count in sorted(untagged.items())
    ]
    return Reading(tuple(_persona(path, key, sessions) for key, sessions in sorted(talks.items())), tuple(notes))


def _turns(path: Path, where: str, lines: list[Any], untagged: Counter[str], user: str) -> list[tuple[str, str]]:
    """(speaker, text) of each turn; `PARTNER` and the user's name alternate, which tells an untagged turn's speaker."""
    found: list[tuple[str, str]] = []
    for i, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            refuse(path, f"{where}, turn {i}", line, "a text such as '<Bart>: \"...\"'")
        if line.strip() in _MARKERS or not line.strip():
            continue
        match = _TAGGED.fullmatch(line)
        if match:
            speaker, text = match[1].strip(), match[2]
        else:
            untagged[user] += 1
            speaker, text = ("" if found and found[-1][0] == PARTNER else PARTNER), line.strip().strip('<>"')
        text = " ".join(text.split())
        if text:
            found.append((speaker, text))
    return found


def _persona(path: Path, key: str, talks: list[list[tuple[str, str]]]) -> Persona:
    names = Counter(speaker for talk in talks for speaker, _ in talk if speaker not in ("", PARTNER))
    if len(names) != 1:
        refuse(path, key, sorted(names), f"one name besides {PARTNER} in all of the user's dialogues")
    name = next(iter(names))
    prefix = id_safe(name) or key
    sessions = []
    for number, talk in enumerate(talks, start=1):
        session = f"{prefix}-s{number:03d}"
        turns = []
        for i, (speaker, text) in enumerate(talk, start=1):
            role: Role = "assistant" if speaker == PARTNER else "user"
            turns.append(Turn(f"{session}-t{i:02d}", role, PARTNER if role == "assistant" else name, text))
        date = _FIRST_DAY + timedelta(days=number - 1)
        sessions.append(Session(session, date.strftime(DATE_FORMAT), tuple(turns)))
    return Persona(prefix, name, PARTNER, f"{name} of MADial-Bench, talking with an assistant.", tuple(sessions), ())
