"""Your own dialogues: one session a line, oldest first within a dialogue.

``{"dialogue": "u17", "date": "2025-02-03T18:40", "turns": [{"role": "user", "text": "..."}, ...]}``. `messages` and
`content` are read as `turns` and `text`, so a chat log needs no rewriting; `user` and `partner` name the speakers;
`sensitive` on a turn names its topic and makes it an ambient fact.

The result is private: no report shows its texts, since they are somebody's.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from pytest_hush.model import Persona, Role, Session, Turn
from pytest_hush.packs.importers.background import Reading, id_safe
from pytest_hush.packs.importers.reading import day, json_lines, refuse
from pytest_hush.packs.importers.sensitive import category_of, with_ambient

VERSION: Final = "1"
LICENCE: Final = "LicenseRef-Own-Dialogues"
PRIVATE: Final = True
USER: Final = "User"
PARTNER: Final = "Assistant"

_WHAT: Final = "a session with `dialogue`, `date` and `turns`"


class _Turn(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    role: Role
    text: str = Field(validation_alias=AliasChoices("text", "content"), pattern=r"\S")
    sensitive: str = ""


class _Session(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    dialogue: str = Field(pattern=r"\S")
    date: str
    turns: tuple[_Turn, ...] = Field(validation_alias=AliasChoices("turns", "messages"), min_length=1, strict=False)
    user: str = USER
    partner: str = PARTNER


def recognises(body: bytes) -> bool:
    """True for a body whose first line looks like a session."""
    first = body.lstrip().partition(b"\n")[0]
    return first[:1] == b"{" and b'"dialogue"' in first and (b'"turns"' in first or b'"messages"' in first)


def read(path: Path, body: bytes) -> Reading:
    """A persona for each dialogue, in the file's order. One labelled turn says that all were looked at."""
    groups: dict[str, list[tuple[str, _Session, str]]] = defaultdict(list)
    for where, row in json_lines(path, body, _WHAT):
        session = _checked(path, where, row)
        date = day(session.date)
        if date is None:
            refuse(path, f"{where}, `date`", session.date, "an ISO date such as 2025-02-03T18:40")
        groups[session.dialogue].append((where, session, date))
    if not groups:
        refuse(path, "the file", "no session", f"{_WHAT}, one object a line")
    personas = tuple(_persona(path, number, key, group) for number, (key, group) in enumerate(groups.items(), start=1))
    ids = [p.id for p in personas]
    for p in personas:
        if ids.count(p.id) > 1:
            refuse(path, "`dialogue`", p.id, "names that stay apart as ids of letters, digits, dots and dashes")
    labelled = any(p.facts for p in personas)
    return Reading(personas, ambient_labelled=labelled)


def _checked(path: Path, where: str, row: dict[str, Any]) -> _Session:
    try:
        return _Session.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(p) for p in first["loc"])
        refuse(path, f"{where}, `{field}`", first["input"], f"{_WHAT} ({first['msg'].lower()})")


def _persona(path: Path, number: int, key: str, group: list[tuple[str, _Session, str]]) -> Persona:
    prefix = id_safe(key) or f"dialogue-{number:02d}"
    first = group[0][1]
    sessions: list[Session] = []
    sensitive: list[tuple[str, str]] = []
    for where, read_session, date in group:
        if (read_session.user, read_session.partner) != (first.user, first.partner):
            refuse(path, where, read_session.user, f"the speakers of the dialogue, {first.user} and {first.partner}")
        if sessions and date <= sessions[-1].date:
            refuse(path, f"{where}, `date`", date, f"a date after {sessions[-1].date}, the session before")
        session = f"{prefix}-s{len(sessions) + 1:02d}"
        turns = tuple(
            Turn(
                f"{session}-t{i:02d}",
                turn.role,
                first.user if turn.role == "user" else first.partner,
                " ".join(turn.text.split()),
            )
            for i, turn in enumerate(read_session.turns, start=1)
        )
        sessions.append(Session(session, date, turns))
        sensitive += [
            (turn.id, category_of(given.sensitive.strip()))
            for turn, given in zip(turns, read_session.turns, strict=True)
            if given.sensitive.strip()
        ]
    about = f"{first.user} of the dialogue {key}, talking with {first.partner}."
    return with_ambient(Persona(prefix, first.user, first.partner, about, tuple(sessions), ()), sensitive)
