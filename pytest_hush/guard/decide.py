"""Retrieved entries in, entries that may be shown out, with a decision on each: the plain function of the guard."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.guard.labels import NOT_SENSITIVE, Label, lines_of, without_speaker
from pytest_hush.guard.log import Action, Decision
from pytest_hush.guard.revoke import Revocation, revoked_by
from pytest_hush.guard.rules import Rules, rules_for
from pytest_hush.guard.settings import GuardSettings, Scope
from pytest_hush.guard.warrant import Warrant
from pytest_hush.model import Entry
from pytest_hush.protocols import Embedder


@dataclass(frozen=True, slots=True)
class Filtered:
    """`entries` in the order given, some of them shortened or put in general words; `decisions` on all that came in."""

    entries: tuple[Entry, ...]
    decisions: tuple[Decision, ...]
    warrant: Warrant

    @property
    def texts(self) -> list[str]:
        """The texts that may be shown."""
        return [entry.text for entry in self.entries]


def filter_entries(
    entries: Iterable[Entry | str | Mapping[str, Any]],
    turn: str,
    *,
    settings: GuardSettings | None = None,
    labels: Mapping[str, Label] | None = None,
    surroundings: Mapping[str, Sequence[str]] | None = None,
    revocations: Sequence[Revocation] = (),
    now: str = "",
    warrant: Warrant | None = None,
    embedder: Callable[[], Embedder] | None = None,
    rules: Rules | None = None,
) -> Filtered:
    """What of `entries`, retrieved for the user's `turn`, may be shown.

    Args:
        entries: texts, mappings with ``text`` (and ``id``, ``sources``, ``turns``, ``date`` where known), or `Entry`.
        turn: the user's current turn, as it was sent.
        settings: see `GuardSettings`; the defaults keep to the policy ``conservative-1``.
        labels: turn id -> its label at write time; for other entries the text is labelled now.
        surroundings: session id -> the kinds of sensitive matter told there: an entry from it needs less to be one.
        revocations: what the user withdrew (`find_revocations`, or of your own making).
        now: ISO date of the turn; decay and retention are counted from it, and are left out without it.
        warrant: what the turn gives a reason for, where something else than the rules has read it.
        embedder: sentence embeddings; None: the built-in ones where they are installed and `settings` allows them.
        rules: what `settings` and `embedder` come to, to be made once and used again (`rules_for`).

    Raises:
        UsageError: an entry is none of the three forms, or `revocations` holds something else.
    """
    for withdrawn in revocations:
        if not isinstance(withdrawn, Revocation):
            raise UsageError(
                f"guard: revocations holds {withdrawn!r}; expected what find_revocations or Revocation.of gives."
            )
    rules = rules or rules_for(settings or GuardSettings(), embedder)
    found = warrant or rules.warrants.read(turn)
    kept: list[Entry] = []
    decisions: list[Decision] = []
    left = rules.settings.most
    for number, item in enumerate(entries, 1):
        entry = as_entry(item, number)
        own = _labels(entry, rules, labels or {}, surroundings or {})
        decision, shown, sensitive = _decide(entry, own, found, rules, revocations, now, room=left > 0)
        decisions.append(decision)
        left -= sensitive
        if shown is not None:
            kept.append(shown)
    return Filtered(tuple(kept), tuple(decisions), found)


def as_entry(item: Entry | str | Mapping[str, Any], number: int) -> Entry:
    """`item` as an entry. Raises `UsageError` for anything but a text, a mapping with ``text``, or an entry.

    `sources` may be a single id.
    """
    if isinstance(item, Entry):
        return item
    if isinstance(item, str):
        return Entry(f"entry-{number}", item, None)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        sources = item.get("sources")
        if isinstance(sources, str):
            sources = (sources,)
        return Entry(
            id=str(item.get("id", f"entry-{number}")),
            text=item["text"],
            sources=None if sources is None else tuple(map(str, sources)),
            turns=tuple(map(str, item.get("turns") or ())),
            date=str(item.get("date") or ""),
        )
    read = f"of the type {type(item).__name__}"
    if isinstance(item, Mapping):
        # Keys are told and no values: an entry is what the guard keeps back.
        held = f"text is of the type {type(item['text']).__name__}" if "text" in item else f"its keys: {_keys(item)}"
        read = f"a mapping without a text ({held})"
    raise UsageError(
        f"guard: entry {number} is {read}; expected a text, a mapping that has its text under 'text' (and, where "
        f"known, 'id', 'sources', 'turns', 'date'), or an Entry."
    )


def _keys(item: Mapping[Any, Any]) -> str:
    return ", ".join(repr(key) for key in list(item)[:8]) or "none"


@dataclass(frozen=True, slots=True)
class _Fate:
    """What becomes of one line: how much of it is said, why, and by what it is sensitive (empty: everyday)."""

    scope: Scope
    why: str
    label: Label


def _decide(
    entry: Entry,
    own: Sequence[Label],
    warrant: Warrant,
    rules: Rules,
    revocations: Sequence[Revocation],
    now: str,
    *,
    room: bool,
) -> tuple[Decision, Entry | None, bool]:
    """The decision on one entry, what is shown in its place (None: nothing), and whether that is sensitive."""
    settings, lines = rules.settings, lines_of(entry.text)
    categories = tuple(c for c in rules.lexicon.categories if any(c in label.categories for label in own))
    age = _age(entry.date, now)
    fates = [_fate(line, label, warrant, rules, age, room=room) for line, label in zip(lines, own, strict=True)]
    sensitive = [f for f in fates if f.label]
    by = sensitive[0].label.why if sensitive else ""

    def made(action: Action, why: str, shown: Entry | None) -> tuple[Decision, Entry | None, bool]:
        decision = Decision(entry.id, action, why, categories, by, entry.sources, entry.date, warrant.turn)
        return decision, shown, shown is not None and any(f.scope == "full" for f in sensitive)

    withdrawn = revoked_by(revocations, entry, categories, rules.phrases) if settings.revocations else ""
    if withdrawn:
        return made("withdrawn", withdrawn, None)
    if sensitive and settings.retention_days and age is not None and age > settings.retention_days:
        return made("expired", f"older than {settings.retention_days} days", None)
    telling = {f.scope: f for f in reversed(sensitive)}
    notes = [_note(scope, telling[scope].label, entry.date, rules) for scope in ("ask", "abstract") if scope in telling]
    shown = _rest(entry, lines, [f.scope == "full" for f in fates], notes)
    for scope, action in _ACTIONS.items():
        if scope in telling:
            return made(action, telling[scope].why, shown)
    if shown is None:
        return made("kept back", fates[0].why if fates else "it is empty", None)
    left = len(lines) - len(lines_of(shown.text))
    why = sensitive[0].why if sensitive else "nothing sensitive"
    return made("shown", f"{why}; {left} lines not about the turn were left out" if left else why, shown)


_ACTIONS: Final[Mapping[Scope, Action]] = {"ask": "ask first", "abstract": "abstracted", "silent": "kept back"}


def _fate(line: str, label: Label, warrant: Warrant, rules: Rules, age: int | None, *, room: bool) -> _Fate:
    settings = rules.settings
    if not set(settings.silent) & set(label.categories):
        if rules.warrants.about(warrant, without_speaker(line)):
            return _Fate("full", "nothing sensitive", NOT_SENSITIVE)
        return _Fate("silent", "not about the turn", NOT_SENSITIVE)
    scope, why = _scope(line, label, warrant, rules, age)
    if scope == "full" and not room:
        return _Fate("silent", f"{settings.most} sensitive entries are shown already", label)
    return _Fate(scope, why, label)


def _note(scope: Scope, label: Label, date: str, rules: Rules) -> str:
    """What stands in the place of lines that may not be shown as they are."""
    silent = set(rules.settings.silent)
    named = ", ".join(rules.lexicon.categories[c].named for c in label.categories if c in silent)
    told = f" on {date[:10]}" if date else ""
    if scope == "abstract":
        return f"The user told something about {named}{told}. Do not name it; heed it only as far as the turn needs."
    return f"There is an earlier note about {named}{told}. Ask the user whether to use it; do not use it before."


def _labels(
    entry: Entry, rules: Rules, stored: Mapping[str, Label], surroundings: Mapping[str, Sequence[str]]
) -> list[Label]:
    """A label for each line. Where the entry is made of whole turns, those that the turns were stored with."""
    lines = lines_of(entry.text)
    if len(entry.turns) == len(lines) and all(turn in stored for turn in entry.turns):
        return [stored[turn] for turn in entry.turns]
    near = dict.fromkeys(kind for source in entry.sources or () for kind in surroundings.get(source, ()))
    return [rules.labeller.label(line, near=tuple(near)) for line in lines]


def _scope(line: str, label: Label, warrant: Warrant, rules: Rules, age: int | None) -> tuple[Scope, str]:
    settings = rules.settings
    half_lives = age / settings.half_life_days if settings.half_life_days and age is not None else 0.0
    if warrant.asked:
        if half_lives >= 2 and settings.asked == "full":
            return "ask", f"{warrant.by}, but it was told {age} days ago"
        return settings.asked, warrant.by
    covered = rules.warrants.covers(warrant, label, without_speaker(line))
    if covered and half_lives < 1:
        return settings.raised, covered
    why = f"{covered}, but it was told {age} days ago" if covered else "the turn neither brings it up nor asks for it"
    return settings.otherwise, why


def _rest(entry: Entry, lines: Sequence[str], kept: Sequence[bool], notes: Sequence[str]) -> Entry | None:
    """The entry with the lines that may be shown, and `notes` in the place of others; None where nothing is left."""
    if all(kept) and lines:
        return entry
    text = [*(line for line, keep in zip(lines, kept, strict=True) if keep), *notes]
    if not text:
        return None
    turns = entry.turns
    if len(turns) == len(lines):
        turns = tuple(turn for turn, keep in zip(turns, kept, strict=True) if keep)
    return replace(entry, text="\n".join(text), turns=turns)


def _age(date: str, now: str) -> int | None:
    try:
        return (datetime.date.fromisoformat(now[:10]) - datetime.date.fromisoformat(date[:10])).days
    except ValueError:
        return None
