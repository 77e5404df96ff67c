"""Withdrawal: the session in which the user takes back a planted disclosure, the difference that ``+revoked`` makes.

The wording is general and stands in a versioned file; it names the day on which it was told, and nothing of it.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.model import Disclosure, History, Session, Turn, digest
from pytest_hush.packs.planting import dates_between
from pytest_hush.packs.schema import DATE_FORMAT

NAME: Final = "revocation-1"
_FILE: Final = Path(__file__).with_name("wordings") / f"{NAME}.toml"


def revocation_id() -> str:
    """The wording's file with a digest of its content, as records name it."""
    return _read()[1]


def revoke(history: History, language: str) -> History:
    """`history` with a session, next after the planted one, in which the user withdraws the disclosure.

    Its date is midway to the next session's. A history without a plant stays as it is. Raises `UsageError` for a
    language that there is no wording for.
    """
    disclosure, planted = history.disclosure, history.planted
    if disclosure is None or planted is None:
        return history
    sessions = history.sessions
    at = next(i for i, s in enumerate(sessions) if s.id == planted)
    (date,) = dates_between(sessions, at + 1, 1)
    made = Session(f"{planted}-revoked", date, _turns(disclosure, sessions[at].date, language))
    return replace(history, sessions=(*sessions[: at + 1], made, *sessions[at + 1 :]), revoked=made.id)


def check_language(language: str) -> None:
    """Raises `UsageError` for a language that there is no wording for."""
    _wording(language)


def _turns(disclosure: Disclosure, told: str, language: str) -> tuple[Turn, ...]:
    words = _wording(language)
    day = datetime.strptime(told, DATE_FORMAT)
    date = words["date"].format(day=day.day, month=words["months"][day.month - 1], year=day.year)
    speakers = {turn.role: turn.speaker for turn in disclosure.turns}
    first = f"{disclosure.session_id}-revoked"
    turns = [Turn(f"{first}:1", "user", speakers["user"], _drawn(words["user"], disclosure.id).format(date=date))]
    if "assistant" in speakers:
        turns.append(Turn(f"{first}:2", "assistant", speakers["assistant"], _drawn(words["assistant"], disclosure.id)))
    return tuple(turns)


def _drawn(lines: list[str], name: str) -> str:
    return lines[int(digest([NAME, name], 8), 16) % len(lines)]


def _wording(language: str) -> Any:
    data, _ = _read()
    found = data.get(language.partition("-")[0].lower())
    if not isinstance(found, dict):
        known = ", ".join(sorted(k for k, v in data.items() if isinstance(v, dict)))
        raise UsageError(
            f"+revoked: there is no wording of a withdrawal in the pack's language {language!r} (there is {known}). "
            f"Leave the condition out for this pack."
        )
    return found


@cache
def _read() -> tuple[dict[str, Any], str]:
    raw = _FILE.read_bytes().replace(b"\r\n", b"\n")
    return tomllib.loads(raw.decode("utf-8")), f"{NAME}@{hashlib.sha256(raw).hexdigest()[:12]}"
