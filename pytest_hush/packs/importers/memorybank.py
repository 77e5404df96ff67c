"""MemoryBank (Zhong et al. 2023): ``memory_bank_en.json``, users who talk with an AI companion day by day.

The day is the session. Summaries, personality portraits and ``meta_information`` are never read: they are
another model's words about the user.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pytest_hush.model import Persona, Session, Turn
from pytest_hush.packs.importers.background import Reading, id_safe
from pytest_hush.packs.importers.reading import day, json_body, refuse, text_of

VERSION: Final = "1"
LICENCE: Final = "MIT"
PRIVATE: Final = False
PARTNER: Final = "Companion"
"""The file names no other speaker than the user."""

_WHAT: Final = "MemoryBank's memory_bank_en.json"


def recognises(body: bytes) -> bool:
    """True for a body that looks like MemoryBank, also when it is cut off."""
    return body.lstrip()[:1] == b"{" and all(f'"{name}"'.encode() in body for name in ("history", "query", "response"))


def read(path: Path, body: bytes) -> Reading:
    """The users in file order, and notes. Raises one `PackError` that says where the file is another."""
    users = json_body(path, body, _WHAT)
    if not isinstance(users, dict) or not users:
        refuse(path, "the top level", users, f"an object of users, as in {_WHAT}")
    notes: list[str] = ["days without a time of day are dated at noon"]
    personas: dict[str, Persona] = {}
    for number, (key, user) in enumerate(users.items(), start=1):
        persona = _persona(path, number, key, user, notes)
        if persona.id in personas:
            refuse(path, f"user {key.strip()!r}", persona.id, "a name that no other user has")
        personas[persona.id] = persona
    return Reading(tuple(personas.values()), tuple(notes))


def _persona(path: Path, number: int, key: str, user: Any, notes: list[str]) -> Persona:
    where = f"user {key.strip()!r}"
    if not isinstance(user, dict) or not isinstance(user.get("history"), dict):
        refuse(path, where, user, "an object with `name` and `history`")
    name = text_of(path, where, user, "name")
    # A name of another script leaves nothing that an id may hold; its place in the file is as good.
    prefix = id_safe(name) or f"user-{number:02d}"
    sessions: list[Session] = []
    for date, exchanges in sorted(user["history"].items()):
        iso = day(date)
        if iso is None:
            refuse(path, f"{where}, `history`", date, "a day such as 2023-04-27")
        if not isinstance(exchanges, list):
            refuse(path, f"{where}, {date}", exchanges, "a list of exchanges")
        if not exchanges:
            notes.append(f"{where}: {date} has no exchange and is left out")
            continue
        session = f"{prefix}-s{len(sessions) + 1:02d}"
        turns: list[Turn] = []
        for i, exchange in enumerate(exchanges, start=1):
            place = f"{where}, {date}, exchange {i}"
            if not isinstance(exchange, dict):
                refuse(path, place, exchange, "an object with `query` and `response`")
            said, answered = (text_of(path, place, exchange, field) for field in ("query", "response"))
            turns.append(Turn(f"{session}-t{2 * i - 1:02d}", "user", name, said))
            turns.append(Turn(f"{session}-t{2 * i:02d}", "assistant", PARTNER, answered))
        sessions.append(Session(session, iso, tuple(turns)))
    if not sessions:
        refuse(path, f"{where}, `history`", user["history"], "one day or more with exchanges")
    return Persona(prefix, name, PARTNER, f"{name} of MemoryBank, talking with an AI companion.", tuple(sessions), ())
