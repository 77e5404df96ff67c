"""LoCoMo (Maharana et al. 2024): ``locomo10.json``, ten dialogues of two friends over months.

``speaker_a`` becomes the user, ``speaker_b`` the other speaker. A shared picture is told by its caption, since
no other part of this package sees pictures. ``qa``, summaries and observations are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pytest_hush.model import Persona, Role, Session, Turn
from pytest_hush.packs.importers.background import PICTURE, Reading, id_safe
from pytest_hush.packs.importers.reading import json_body, refuse, text_of
from pytest_hush.packs.schema import DATE_FORMAT

VERSION: Final = "1"
LICENCE: Final = "CC-BY-NC-4.0"
PRIVATE: Final = False

# Not strptime's %B and %p: those follow the machine's locale.
_DATE: Final = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])m on (\d{1,2}) ([A-Za-z]+),? (\d{4})\s*", re.IGNORECASE)
_MONTH_NAMES: Final = "january february march april may june july august september october november december"
_MONTHS: Final = _MONTH_NAMES.split()
_SESSION: Final = re.compile(r"session_(\d+)")


def recognises(body: bytes) -> bool:
    """True for a body that looks like LoCoMo, also when it is cut off."""
    return body.lstrip()[:1] == b"[" and b'"conversation"' in body and b'"session_' in body


def read(path: Path, body: bytes) -> Reading:
    """The dialogues in file order, and notes. Raises one `PackError` that says where the file is not LoCoMo."""
    samples = json_body(path, body, "LoCoMo's locomo10.json")
    if not isinstance(samples, list) or not samples:
        refuse(path, "the top level", samples, "a list of dialogues, as in locomo10.json")
    notes: list[str] = []
    personas: dict[str, Persona] = {}
    for number, sample in enumerate(samples, start=1):
        persona = _persona(path, f"dialogue {number}", sample, notes)
        if persona.id in personas:
            refuse(path, f"dialogue {number}, `sample_id`", persona.id, "an id that no other dialogue has")
        personas[persona.id] = persona
    return Reading(tuple(personas.values()), tuple(notes))


def parse_date(text: str) -> str | None:
    """``1:56 pm on 8 May, 2023`` as ``2023-05-08T13:56``; None when it is no such date."""
    match = _DATE.fullmatch(text)
    if match is None or match[5].lower() not in _MONTHS or not 1 <= int(match[1]) <= 12:
        return None
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    try:
        date = datetime(int(match[6]), _MONTHS.index(match[5].lower()) + 1, int(match[4]), hour, int(match[2]))
    except ValueError:
        return None
    return date.strftime(DATE_FORMAT)


def _persona(path: Path, where: str, sample: Any, notes: list[str]) -> Persona:
    if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
        refuse(path, where, sample, "an object with `sample_id` and `conversation`")
    talk: dict[str, Any] = sample["conversation"]
    name = text_of(path, where, sample, "sample_id")
    key = id_safe(name)
    if not key:
        refuse(path, f"{where}, `sample_id`", name, "a text with letters or digits")
    where = f"dialogue {name}"
    speakers: dict[str, Role] = {}
    speakers[text_of(path, where, talk, "speaker_a")] = "user"
    speakers[text_of(path, where, talk, "speaker_b")] = "assistant"
    if len(speakers) < 2:
        refuse(path, f"{where}, `speaker_b`", next(iter(speakers)), "another speaker than `speaker_a`")
    sessions = tuple(_sessions(path, where, key, talk, speakers, notes))
    if not sessions:
        refuse(path, f"{where}, `conversation`", sorted(talk)[:4], "sessions named session_1, session_2, …")
    if late := [s.id for before, s in pairwise(sessions) if s.date <= before.date]:
        notes.append(f"{where}: {', '.join(late)} not later than the session before; the sessions' order is kept")
    seen: set[str] = set()
    for turn in (t for s in sessions for t in s.turns):
        if turn.id in seen:
            refuse(path, f"{where}, `dia_id`", turn.id, "an id that no other turn has")
        seen.add(turn.id)
    user, partner = speakers
    return Persona(key, user, partner, f"{user} of the LoCoMo dialogue {name}, talking with {partner}.", sessions, ())


def _sessions(
    path: Path, where: str, key: str, talk: dict[str, Any], speakers: dict[str, Role], notes: list[str]
) -> Iterator[Session]:
    # Dates without a session exist in the file (conv-26, 20 to 35): the sessions decide what there is.
    numbers = sorted(int(m[1]) for m in map(_SESSION.fullmatch, talk) if m)
    for number in numbers:
        field = f"session_{number}"
        turns, date = talk.get(field), talk.get(f"{field}_date_time")
        if not isinstance(turns, list):
            refuse(path, f"{where}, `{field}`", turns, "a list of turns")
        iso = parse_date(date) if isinstance(date, str) else None
        if iso is None:
            refuse(path, f"{where}, `{field}_date_time`", date, "a date such as '1:56 pm on 8 May, 2023'")
        read = [_turn(path, f"{where}, `{field}`, turn {i}", key, t, speakers) for i, t in enumerate(turns, start=1)]
        kept = tuple(t for t in read if t.text)
        if len(kept) < len(read):
            notes.append(f"{where}, {field}: {len(read) - len(kept)} turns without text or picture dropped")
        if kept:
            yield Session(f"{key}-s{number:02d}", iso, kept)
        else:
            notes.append(f"{where}: {field} has no turns and is left out")


def _turn(path: Path, where: str, key: str, turn: Any, speakers: dict[str, Role]) -> Turn:
    if not isinstance(turn, dict):
        refuse(path, where, turn, "an object with `speaker`, `dia_id` and `text`")
    speaker = text_of(path, where, turn, "speaker")
    if speaker not in speakers:
        refuse(path, f"{where}, `speaker`", speaker, f"{' or '.join(map(repr, speakers))}")
    dia = id_safe(text_of(path, where, turn, "dia_id"))
    if not dia:
        refuse(path, f"{where}, `dia_id`", turn["dia_id"], "an id such as 'D1:3'")
    # The caption alone says that there is a picture: hundreds of turns have one without `img_url`.
    parts = {name: turn.get(name) or "" for name in ("text", "blip_caption")}
    for name, value in parts.items():
        if not isinstance(value, str):
            refuse(path, f"{where}, `{name}`", value, "a text")
    text, caption = (" ".join(value.split()) for value in parts.values())
    if caption:
        text = f"{text}{PICTURE}{caption}]".strip()
    return Turn(f"{key}-{dia}", speakers[speaker], speaker, text)
