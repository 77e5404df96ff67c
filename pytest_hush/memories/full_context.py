"""``full-context``: the whole history, cut to a token budget that is part of the condition's label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_hush.errors import MemoryStoreError, UsageError
from pytest_hush.memories.render import render, transcript
from pytest_hush.model import Context, Entry, History, Session

LIMIT: Final = 24_000
"""Tokens; no model gets more, so that long-context models are compared on the same history."""


def four_characters(text: str) -> int:
    """Tokens of `text` where the model cannot count them: one for every four characters, rounded up."""
    return -(-len(text) // 4)


class FullContext:
    """Whole sessions, oldest first. The oldest are dropped until the rest fits; the planted one is never cut."""

    name: Final = "full-context"
    version: Final = "1"
    retrieving: Final = False
    """Nothing retrieves, and the plant is always there; a control's fact may rightly have been dropped."""

    def __init__(self, window: int | None = None, count_tokens: Callable[[str], int] | None = None) -> None:
        """`window`: tokens that the model leaves for memory, its context less output and prompt; None: no bound
        of the model's own. `count_tokens` is the model's counter, else `four_characters`. Raises `UsageError`
        when nothing is left for memory.
        """
        if window is not None and window <= 0:
            raise UsageError(
                f"full-context: {window} tokens are left for memory, the model's context less its output and the "
                f"prompt. Lower the output tokens, or leave full-context out for this model."
            )
        self.budget = LIMIT if window is None else min(LIMIT, window)
        self._counter = "characters/4" if count_tokens is None else "model"
        self._count_tokens = count_tokens or four_characters
        self._costs: dict[str, int] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"budget": self.budget, "counter": self._counter}

    def context(self, history: History, question: str) -> Context:  # noqa: ARG002 - the protocol's shape
        """One entry a session: id and source are the session's. Raises `MemoryStoreError` when the planted
        session alone exceeds the budget.
        """
        entries = [_entry(session) for session in history.sessions]
        costs = [self._cost(entry) for entry in entries]
        left = self.budget - sum(c for e, c in zip(entries, costs, strict=True) if e.id == history.planted)
        if left < 0:
            raise MemoryStoreError(
                f"full-context@{self.budget}: the planted session {history.planted} needs {self.budget - left} tokens, "
                f"more than the whole budget. Use a model with a longer context or fewer output tokens."
            )
        first = len(entries)
        while first > 0:
            cost = 0 if entries[first - 1].id == history.planted else costs[first - 1]
            if cost > left:
                break
            left -= cost
            first -= 1
        kept = tuple(e for i, e in enumerate(entries) if i >= first or e.id == history.planted)
        dropped = len(entries) - len(kept)
        notes = (f"full-context: {dropped} of {len(entries)} sessions dropped, oldest first",) if dropped else ()
        return Context(kept, label=f"{self.name}@{self.budget}", notes=notes)

    def _cost(self, entry: Entry) -> int:
        text = render([entry]) + "\n"
        if text not in self._costs:
            if len(self._costs) >= 4096:
                self._costs.clear()
            self._costs[text] = self._count_tokens(text)
        return self._costs[text]


def _entry(session: Session) -> Entry:
    turns = tuple(turn.id for turn in session.turns)
    return Entry(session.id, transcript(session), (session.id,), turns, session.date)
