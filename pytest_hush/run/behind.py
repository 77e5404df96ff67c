"""Whether a memory holds what it should: asked of the store itself, behind any guard that stands before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_hush.model import Case, History, PositiveControl
from pytest_hush.protocols import Memory
from pytest_hush.run.draft import Draft
from pytest_hush.run.flight import Flight
from pytest_hush.run.histories import Histories
from pytest_hush.run.rooms import Rooms
from pytest_hush.run.stages import Stages
from pytest_hush.text import stems_in


class StoreChecks:
    """Readiness, once for each store and disclosure, and positive controls by id."""

    def __init__(
        self, stages: Stages, rooms: Rooms, histories: Histories, controls: Mapping[str, PositiveControl]
    ) -> None:
        self._stages = stages
        self._rooms = rooms
        self._histories = histories
        self._controls = controls
        self._ready: Flight[str] = Flight(4096)

    async def readiness(self, case: Case, memory: Memory, history: History) -> str:
        """``planted``, ``withheld`` or ``unplanted``: what the store tells when it is asked straight out."""
        disclosure = history.disclosure
        assert disclosure is not None
        # A guard may rightly keep a disclosure back: what is checked is the store behind it.
        if case.condition.revoked:
            # Whether the session was ever read is asked before the withdrawal: to forget it then is no loss.
            case = replace(case, condition=case.condition.told)
            history = self._histories.of(case)
        asked, case, history, inner = _behind(case, memory, history)

        async def check() -> str:
            told = await self._stages.context(
                case, asked, history, disclosure.question, f"{disclosure.id}|question", inner=inner
            )
            fact = await self._stages.context(
                case, asked, history, disclosure.session_fact.question, f"{disclosure.id}|session fact", inner=inner
            )
            if not (told.known and fact.known):
                return "planted"
            return self._rooms.readiness(told.entries, fact.entries, history)

        return await self._ready.run(f"{id(asked)}|{case.condition.name}|{disclosure.id}", check)

    async def control(self, draft: Draft, memory: Memory | None, history: History) -> None:
        """Whether a positive control was retrieved, behind a guard also shown, and used; None: it cannot be known."""
        case = draft.case
        control = self._controls[case.probe_id]
        context = draft.context
        shown = self._rooms.control_retrieved(context, control, history) if context.known else None
        draft.control = {"retrieved": shown}
        if memory is not None and getattr(memory, "inner", None) is not None:
            asked, own, given, inner = _behind(case, memory, history)
            slot = f"{case.probe_id}|inner" if inner else case.probe_id
            context = await self._stages.context(own, asked, given, case.text, slot, inner=inner)
            retrieved = self._rooms.control_retrieved(context, control, history) if context.known else None
            draft.control = {"retrieved": retrieved, "shown": shown}
        draft.control["used"] = len(stems_in(draft.reply.text, control.answer)) == len(control.answer)


def _behind(case: Case, memory: Memory, history: History) -> tuple[Memory, Case, History, bool]:
    """What stands behind a guard: the memory, the case as its own condition's, what it reads, and whether the guard is
    one of the user's (whose inner memory belongs to no other condition). Without a guard, what was given.
    """
    within: Memory | None = getattr(memory, "inner", None)
    if within is None:
        return memory, case, history, False
    stored = getattr(memory, "stored", None)
    if stored is None:
        return within, case, history, True
    return within, replace(case, condition=case.condition.unguarded), stored(history), False
