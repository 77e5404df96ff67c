"""`GuardedMemory`: the four decisions around any memory, as a memory itself."""

from __future__ import annotations

import difflib
import inspect
import threading
import warnings
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.guard import ask_model
from pytest_hush.guard.decide import Filtered, filter_entries
from pytest_hush.guard.labels import Label
from pytest_hush.guard.log import Decision, explain
from pytest_hush.guard.revoke import Revocation, find_revocations
from pytest_hush.guard.rules import rules_for
from pytest_hush.guard.settings import GuardSettings
from pytest_hush.guard.warrant import Warrant
from pytest_hush.model import Context, History, Session
from pytest_hush.protocols import Embedder, Memory, Model

VERSION: Final = "guard-1"
_SESSIONS: Final = 4096
_LOG: Final = 1000
_IDS: Final = 100_000


class GuardedMemory:
    """What `inner` remembers, shown only where the user's turn warrants it. Thread-safe.

    `inner` is any memory of the protocol; its store is checked for health by the run, not the guard. Where `inner` is
    asynchronous, or `model` reads warrants, `context` gives an awaitable. `decisions` holds the last thousand.
    """

    def __init__(
        self,
        inner: Memory,
        settings: GuardSettings | None = None,
        *,
        embedder: Callable[[], Embedder] | None = None,
        model: Model | None = None,
    ) -> None:
        """`embedder` makes sentence embeddings; None: the built-in ones where they are installed and settings allow it.

        Raises `UsageError` for a language without a lexicon, and for settings that ask for a model where none is given.
        """
        self.inner = inner
        self._guard = settings or GuardSettings()
        self._rules = rules_for(self._guard, embedder)
        if self._guard.warrant == "model" and model is None:
            raise UsageError("guard: settings with warrant = 'model' need a model; pass one as model=….")
        self.model = model if self._guard.warrant == "model" else None
        inner_name = str(getattr(inner, "name", "") or type(inner).__name__)
        self.name = f"{inner_name}+guard"
        self.version = f"{VERSION}/{getattr(inner, 'version', '') or ''}"
        self.retrieving = bool(getattr(inner, "retrieving", True))
        self._lock = threading.Lock()
        self._labels: OrderedDict[tuple[str, tuple[str, ...]], Mapping[str, Label]] = OrderedDict()
        self._given: list[Revocation] = []
        self._read: set[str] | None = set()  # ids of sessions; None once there are too many to know them all
        self.decisions: deque[Decision] = deque(maxlen=_LOG)

    @property
    def in_flight(self) -> int | None:
        """How many questions `inner` takes at once."""
        found = getattr(self.inner, "in_flight", None)
        return None if found is None else int(found)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The inner memory's settings, and under ``guard`` all that decides here."""
        own: dict[str, Any] = dict(self._rules.as_json())
        if self.model is not None:
            named = {"name": str(getattr(self.model, "name", "")), **dict(getattr(self.model, "settings", None) or {})}
            own |= {"model": named, "prompt": ask_model.PROMPT_ID}
        with self._lock:
            if self._given:
                own["withdrawn"] = [[list(r.sessions), list(r.categories)] for r in self._given]
        inner = getattr(self.inner, "settings", None)
        return {**(dict(inner) if isinstance(inner, Mapping) else {}), "guard": own}

    def context(self, history: History, question: str) -> Context | Awaitable[Context]:
        """What of the inner memory's answer may be shown for `question`, the user's turn."""
        found = self.inner.context(self.stored(history), question)
        if inspect.isawaitable(found):
            return self._later(found, history, question)
        return self.permit(found, history, question)

    def stored(self, history: History) -> History:
        """What the inner memory is given to read: without sensitive turns where `storage` is ``drop``."""
        if self._guard.storage == "label" or not self.retrieving:
            return history
        silent = set(self._guard.silent)
        kept = []
        for session in history.sessions:
            labels = self._session(session)
            turns = tuple(t for t in session.turns if not silent & set(labels[t.id].categories))
            kept.append(replace(session, turns=turns))
        return replace(history, sessions=tuple(kept))

    def permit(self, found: Context, history: History, question: str) -> Context | Awaitable[Context]:
        """`found`, the inner memory's answer, after the guard's decisions. Unknown contexts stay unknown."""
        self._note_read(history)
        if not found.known or not found.entries:
            return found
        if self.model is not None:
            return self._by_model(found, history, question)
        return self._permitted(found, history, question, None)

    def revoke(self, sessions: Sequence[str], *, date: str = "", categories: Sequence[str] = ()) -> None:
        """Withdraw what was told in `sessions` (of `categories` only, where given), from now on.

        Raises `UsageError` for a text in the place of a list, and for kinds that there are none of. A session that no
        dialogue read so far holds is withdrawn too, since it may be read later, with a warning: it may be a mistake.
        """
        made = Revocation.of(sessions, categories=categories, date=date)
        with self._lock:
            self._given.append(made)
            read = sorted(self._read or ())
        for name in made.sessions:
            if read and name not in read:
                close = difflib.get_close_matches(name, read, n=1, cutoff=0.6)
                near = f" (did you mean {close[0]!r}?)" if close else ""
                warnings.warn(
                    f"guard: {name!r} is withdrawn from now on, but no dialogue that was read so far has a session of "
                    f"that id{near}; expected the id of a session, as in the sources of an entry.",
                    stacklevel=2,
                )

    def restore(self, sessions: Sequence[str]) -> None:
        """Undo every `revoke` of the application that names one of `sessions`."""
        Revocation.of(sessions)  # says what is no list of ids
        with self._lock:
            self._given = [r for r in self._given if not set(r.sessions) & set(sessions)]

    def explain(self, last: int = 20, *, turn: str | None = None) -> list[str]:
        """The last decisions in words that can be put before the user: what, from where, why. No entry is quoted.

        A line before those of each turn quotes its first words. With `turn` the decisions on that turn of the user's
        alone are given, without that line.
        """
        with self._lock:
            found = [d for d in self.decisions if turn is None or d.turn == turn]
        return explain(found[-last:] if last > 0 else (), turns=turn is None)

    def close(self) -> Any:
        """Close the inner memory, where it can be closed."""
        closer = getattr(self.inner, "close", None)
        return closer() if callable(closer) else None

    async def _later(self, found: Awaitable[Context], history: History, question: str) -> Context:
        permitted = self.permit(await found, history, question)
        return await permitted if inspect.isawaitable(permitted) else permitted

    async def _by_model(self, found: Context, history: History, question: str) -> Context:
        rules_alone = self._filter(found, history, question, None)
        if all(d.action != "kept back" and not d.categories for d in rules_alone.decisions):
            return self._finished(found, rules_alone)  # nothing sensitive: no question of warrant
        assert self.model is not None
        warrant, note = await ask_model.read_by_model(self.model, question, self._rules)
        permitted = self._permitted(found, history, question, warrant)
        return replace(permitted, notes=(*permitted.notes, note)) if note else permitted

    def _permitted(self, found: Context, history: History, question: str, warrant: Warrant | None) -> Context:
        return self._finished(found, self._filter(found, history, question, warrant))

    def _filter(self, found: Context, history: History, question: str, warrant: Warrant | None) -> Filtered:
        wanted = {turn for entry in found.entries for turn in entry.turns}
        sources = {source for entry in found.entries for source in entry.sources or ()}
        labels: dict[str, Label] = {}
        surroundings: dict[str, list[str]] = {}
        for session in history.sessions:
            # Only what was retrieved is looked up: labelling a whole dialogue would cost an embedding for each turn.
            if session.id in sources or any(turn.id in wanted for turn in session.turns):
                own = self._session(session)
                labels |= own
                surroundings[session.id] = [kind for label in own.values() for kind in label.categories]
        told: tuple[Revocation, ...] = ()
        if self._guard.revocations:
            told = find_revocations(history.sessions, self._rules)
        with self._lock:
            given = tuple(self._given)
        return filter_entries(
            found.entries,
            question,
            labels=labels,
            surroundings=surroundings,
            revocations=(*told, *given),
            now=history.sessions[-1].date if history.sessions else "",
            warrant=warrant,
            rules=self._rules,
        )

    def _finished(self, found: Context, filtered: Filtered) -> Context:
        with self._lock:
            self.decisions.extend(filtered.decisions)
        counts = Counter(
            "shown, sensitive" if d.label and d.action == "shown" else d.action for d in filtered.decisions
        )
        told = "; ".join(f"{n} {action}" for action, n in sorted(counts.items()))
        if set(counts) <= {"shown"}:
            told = "nothing sensitive"
        note = f"guard: of {len(filtered.decisions)} retrieved: {told}"
        return replace(found, entries=filtered.entries, notes=(*found.notes, note))

    def _note_read(self, history: History) -> None:
        with self._lock:
            if self._read is not None:
                self._read.update(session.id for session in history.sessions)
                if len(self._read) > _IDS:
                    self._read = None

    def _session(self, session: Session) -> Mapping[str, Label]:
        """The labels of a session's turns, made when it is first read: they are those of write time."""
        key = (session.id, tuple(turn.text for turn in session.turns))
        with self._lock:
            if (known := self._labels.get(key)) is not None:
                self._labels.move_to_end(key)
                return known
        made = self._rules.labeller.session(session)
        with self._lock:
            self._labels[key] = made
            if len(self._labels) > _SESSIONS:
                self._labels.popitem(last=False)
        return made
