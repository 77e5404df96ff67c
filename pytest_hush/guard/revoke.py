"""Revocation: what the user withdrew, read from later sessions of the dialogue or given by the application."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_hush.errors import UsageError
from pytest_hush.guard.labels import Labeller
from pytest_hush.guard.lexicon import Phrases
from pytest_hush.guard.rules import Rules, rules_for
from pytest_hush.guard.settings import GuardSettings, labels_of
from pytest_hush.model import Entry, Session, Turn

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAY_MONTH: Final = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{'|'.join(_MONTHS)})\b"
    rf"|\b(?P<month2>{'|'.join(_MONTHS)}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")


@dataclass(frozen=True, slots=True)
class Revocation:
    """One withdrawal: told in session `by` on `date` in `words`; `sessions` are those whose content it takes back.

    `categories` narrow it to matters of these kinds; empty: all that was told there. `turns` are the withdrawal itself
    and the answer to it: to show them would tell that there was something.
    """

    by: str
    date: str
    words: str
    sessions: tuple[str, ...]
    categories: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()

    @classmethod
    def of(cls, sessions: Sequence[str], *, categories: Sequence[str] = (), date: str = "") -> Revocation:
        """A withdrawal that the application takes, such as by a button: what was told in `sessions`, ids of sessions.

        Raises `UsageError` for a text in the place of a list, an empty list, and kinds that there are none of.
        """
        if isinstance(sessions, str) or not sessions or not all(isinstance(s, str) and s for s in sessions):
            raise UsageError(f"guard, sessions to withdraw = {sessions!r}: expected a list of ids of sessions.")
        return cls("application", date, "", tuple(sessions), labels_of("guard, categories to withdraw", categories))


def find_revocations(sessions: Sequence[Session], rules: Rules | None = None) -> tuple[Revocation, ...]:
    """The withdrawals in a dialogue, oldest first, less those that a later turn gives back. `rules` None: the defaults.

    Which sessions one means: those of the day that it names; else those that hold a matter of a kind that it names;
    else the last earlier session that holds anything sensitive; else the one before.
    """
    rules = rules or rules_for(GuardSettings())
    labeller, phrases = rules.labeller, rules.phrases
    found: list[Revocation] = []
    for index, session in enumerate(sessions):
        for place, turn in enumerate(session.turns):
            if turn.role != "user":
                continue
            if found and phrases.restores.found(turn.text):
                found.pop()
            elif phrases.revokes.found(turn.text):
                meant = _meant(turn, session, sessions[:index], labeller)
                if meant is not None:
                    answer = [t for t in session.turns[place + 1 : place + 2] if t.role == "assistant"]
                    found.append(replace(meant, turns=tuple(t.id for t in (turn, *answer))))
    return tuple(found)


def revoked_by(revocations: Iterable[Revocation], entry: Entry, categories: Sequence[str], phrases: Phrases) -> str:
    """Why `entry` is withdrawn, or ''. One without known sources or turns is not matched by them."""
    sources = set(entry.sources or ())
    for revocation in revocations:
        on = f" on {revocation.date[:10]}" if revocation.date else ""
        if sources & set(revocation.sessions) and (
            not revocation.categories or set(revocation.categories) & set(categories)
        ):
            return f"withdrawn{on}"
        told = bool(entry.turns) and set(entry.turns) <= set(revocation.turns)
        rewritten = not entry.turns and sources == {revocation.by} and phrases.revokes.found(entry.text)
        if told or rewritten:
            return f"it is the withdrawal{on} itself"
    return ""


def _meant(turn: Turn, session: Session, earlier: Sequence[Session], labeller: Labeller) -> Revocation | None:
    if not earlier:
        return None
    days = _days(turn.text, session.date)
    named = tuple(labeller.strong(turn.text))
    if days:
        meant = [s.id for s in earlier if s.date[:10] in days]
        return Revocation(session.id, session.date, turn.text, tuple(meant), named) if meant else None
    labels = {s.id: {c for label in labeller.session(s).values() for c in label.categories} for s in earlier}
    if named:
        meant = [s.id for s in earlier if labels[s.id] & set(named)]
        return Revocation(session.id, session.date, turn.text, tuple(meant), named) if meant else None
    sensitive = [s.id for s in earlier if labels[s.id]]
    return Revocation(session.id, session.date, turn.text, ((sensitive or [earlier[-1].id])[-1],))


def _days(text: str, today: str) -> set[str]:
    """The days that `text` names, as ISO dates; a day without a year is the last one before `today`."""
    found = {"-".join(match.groups()) for match in _ISO.finditer(text)}
    try:
        now = datetime.date.fromisoformat(today[:10])
    except ValueError:
        return found
    for match in _DAY_MONTH.finditer(text):
        day = int(match["day"] or match["day2"])
        month = _MONTHS.index((match["month"] or match["month2"]).lower()) + 1
        for year in (now.year, now.year - 1):
            try:
                date = datetime.date(year, month, day)
            except ValueError:
                continue
            if date <= now:
                found.add(date.isoformat())
                break
    if re.search(r"\byesterday\b", text, re.IGNORECASE):
        found.add((now - datetime.timedelta(days=1)).isoformat())
    return found
