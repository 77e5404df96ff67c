"""One case from end to end: history, readiness, context, exposure, prompt, reply, judges, record.

Whatever goes wrong with a case becomes a record that says so: an infrastructure failure is never a score, and never
an exception of `Pipeline.run`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_hush.errors import FatalModelError, HushError, ModelError, UnreadableJudgement
from pytest_hush.model import (
    Case,
    Condition,
    Context,
    Exposure,
    History,
    Judgement,
    Pack,
    Record,
    digest,
)
from pytest_hush.protocols import Memory
from pytest_hush.run.behind import StoreChecks
from pytest_hush.run.binding import Binding
from pytest_hush.run.draft import Draft
from pytest_hush.run.draws import draws
from pytest_hush.run.guard import Counters, Desk, Guard, under_guard
from pytest_hush.run.histories import Histories
from pytest_hush.run.pool import call
from pytest_hush.run.prompt import build_prompt
from pytest_hush.run.provenance import instrument, judge_name, output_tokens, parts, subject, whole_settings
from pytest_hush.run.retry import RetryPolicy
from pytest_hush.run.rooms import Rooms, built_in
from pytest_hush.run.stages import Stages
from pytest_hush.run.wording import error_text, said
from pytest_hush.store import Budget, Cache


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`in_flight` bounds concurrent calls to one model in this process; `seed` goes to models that take one.

    `judge_repeats`: how often a judge that asks a model is asked about one reply.
    """

    in_flight: int = 16
    seed: int = 0
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    explain_misses: bool = False
    judge_repeats: int = 1


class Pipeline:
    """Turns cases of one plan into records. Use it from one event loop; `aclose` ends it.

    Raises `UsageError` (and `MissingExtraError`) at construction for a binding that cannot be measured.
    """

    def __init__(
        self,
        binding: Binding,
        pack: Pack,
        *,
        plan_hash: str,
        options: RunOptions | None = None,
        cache: Cache | None = None,
        budget: Budget | None = None,
        rooms: Rooms | None = None,
    ) -> None:
        binding.check()
        self.pack = pack
        self.options = options or RunOptions()
        self.plan_hash = plan_hash
        self._cache = cache
        self.instrument = instrument(binding, pack)
        self._rooms = rooms or built_in()
        limit = self.options.in_flight
        self._desk = Desk.create(limit, self.options.policy, budget, self._rooms.price, self._rooms.max_price)
        self._stages = Stages(
            self._desk,
            cache,
            pack.hash,
            workers=max(2, os.cpu_count() or 2),
            in_flight=limit,
            explain=self.options.explain_misses,
        )
        self._guards = {name: Guard(model, name, self._desk, limit) for name, model in binding.models.items()}
        self._assistant: Guard | None = None
        if binding.closed:
            self._assistant = Guard(binding.assistant, "assistant", self._desk, limit)
        twins: dict[int, Any] = {}

        def guarded(memory: Memory) -> Memory:
            return under_guard(memory, "memory model", self._desk, limit, twins)

        judges = tuple(under_guard(judge, "judge", self._desk, limit, twins) for judge in binding.judges)
        self._draws = draws(judges, self.options.judge_repeats)
        self.binding = replace(
            binding,
            memories={name: guarded(m) for name, m in binding.memories.items()},
            per_model={pair: guarded(m) for pair, m in binding.per_model.items()},
        )
        self._personas = {p.id: p for p in pack.personas}
        self._disclosures = {d.id: d for d in pack.disclosures}
        self._probes = {p.id: p for p in pack.probes}
        self._controls = {c.id: c for c in pack.positive_controls}
        self._histories = Histories(pack, self._rooms)
        self._checks = StoreChecks(self._stages, self._rooms, self._histories, self._controls)
        self._subjects: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def counters(self) -> Counters:
        return self._desk.counters

    @property
    def fatal(self) -> str:
        """Why no later case can be measured (every model stopped, or a judge), or ''."""
        judges = [why for name, why in self._stages.stopped.items() if name.startswith("judge ")]
        if judges:
            return said(judges[0])
        guards = [self._assistant] if self._assistant else list(self._guards.values())
        reasons = [guard.stopped for guard in guards]
        return said(reasons[0]) if reasons and all(reasons) else ""

    def subject(self, model: str, condition: Condition) -> dict[str, Any]:
        """The subject of (model, condition), before any call."""
        known = self._subjects.get((model, condition.name))
        if known is None:
            known = self._subjects[model, condition.name] = subject(self.binding, model, condition)
        return known

    def key(self, case: Case) -> str:
        """Digest of all that can change the answer to `case`: equal keys are one piece of work, in any run."""
        return digest(
            {
                "case": [case.kind, case.model, case.condition.name, case.probe_id, case.invited, case.repeat],
                "text": case.text,
                "disclosure": case.disclosure_id,
                "history": self._stages.fingerprint(self._histories.of(case)),
                "pack": self.pack.hash,
                "seed": self.options.seed,
                "subject": self.subject(case.model, case.condition),
                "instrument": self.instrument,
                **({"judge draws": len(self._draws)} if len(self._draws) > len(self.binding.judges) else {}),
                # Unlike the subject's, these hold what a record may not show.
                "settings": [whole_settings(p) for p in parts(self.binding, case.model, case.condition.name)],
            }
        )

    async def run(self, case: Case) -> Record:
        """Measure `case`. Never raises for the case's own failure: the record's status and error tell it."""
        draft = Draft(case)
        try:
            await self._measure(draft)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            draft.status = "error"
            draft.error = error_text(error)
            if isinstance(error, ModelError) and not draft.reply.attempts:
                draft.attempts = error.attempts
        return self._record(draft)

    async def aclose(self) -> None:
        """Close models, memories, judges and the assistant, each once; an error of theirs is passed over.

        The cache and the budget are closed too; both open again by themselves when they are shared.
        """
        things = [*self.binding.models.values(), *self.binding.memories.values(), *self.binding.per_model.values()]
        things += [*self.binding.judges, *([self.binding.assistant] if self.binding.assistant else [])]
        # A gate closes what stands behind it, which may be bound by itself too.
        things = [getattr(t, "inner", t) if callable(getattr(t, "permit", None)) else t for t in things]
        closers = [close for t in {id(t): t for t in things}.values() if callable(close := getattr(t, "close", None))]
        await asyncio.gather(*(call(self._stages.pool, close) for close in closers), return_exceptions=True)
        # In the thread that settles payments, so that the last ones are booked before.
        for shelf in (self._cache, self._desk.budget):
            if shelf is not None:
                await call(self._desk.io, shelf.close)
        self._stages.close()
        self._desk.models.shutdown()
        self._desk.io.shutdown()

    # ---- the steps --------------------------------------------------------------------------------

    async def _measure(self, draft: Draft) -> None:
        case = draft.case
        for name, why in self._stages.stopped.items():
            # A dead judge would waste a generator's call on every later case.
            if name.startswith("judge ") and case.kind == "probe":
                raise FatalModelError(why, attempts=0)
        history = self._histories.of(case)
        if self._assistant is not None and self.binding.asks_assistant(case):
            given = history if case.condition.base == "assistant" else None
            draft.context = Context(known=False, label=case.condition.name)
            assert self.binding.assistant is not None
            draft.reply = await self._stages.answer(case, self._assistant, self.binding.assistant, given)
        elif not await self._ask_model(draft, history):
            return
        draft.attempts = draft.reply.attempts
        if case.kind == "control":
            await self._checks.control(draft, self.binding.memory(case.model, case.condition.name), history)
        else:
            await self._judge(draft)

    async def _ask_model(self, draft: Draft, history: History) -> bool:
        """Context, exposure and reply. False when the case ends here as `unplanted`."""
        case = draft.case
        guard = self._guards.get(case.model)
        memory = self.binding.memory(case.model, case.condition.name)
        if guard is None or memory is None:
            missing = f"model {case.model!r}" if guard is None else f"memory {case.condition.name!r}"
            raise HushError(f"nothing is bound to the {missing}; the case cannot be measured.")
        if case.kind == "probe" and getattr(memory, "retrieving", True):
            readiness = await self._checks.readiness(case, memory, history)
            if readiness == "unplanted":
                draft.status = "unplanted"
                draft.error = (
                    "the memory gives neither the disclosure nor the harmless fact of its session to a direct "
                    "question: the session was lost, so silence would mean nothing"
                )
                return False
            if readiness == "withheld":
                draft.status = "withheld"
        guard.raise_if_stopped()
        context = await self._stages.context(case, memory, history, case.text, case.probe_id)
        draft.context = context
        if case.kind == "probe":
            draft.exposure = self._rooms.exposure(context, history) if context.known else Exposure()
        prompt = build_prompt(
            case.text,
            self._rooms.render(context.entries) if context.entries else "",
            context.entries,
            max_tokens=output_tokens(guard.inner),
            seed=self.options.seed,
            repeat=case.repeat,
            with_boundary=case.condition.boundary,
        )
        draft.reply = await self._stages.reply(case, guard, prompt)
        return True

    async def _judge(self, draft: Draft) -> None:
        case = draft.case
        assert case.disclosure_id is not None
        view = self._rooms.judge_view(
            case,
            self._probes[case.probe_id],
            draft.reply.text,
            self._disclosures[case.disclosure_id],
            self._personas[case.persona],
            self.pack,
            case.invited,
            self.binding.shared,
        )
        named = self._rooms.names_system(draft.reply.text)
        if named:
            draft.notes = (f"reply names a system: {', '.join(named)}",)
        results = await asyncio.gather(
            *(self._stages.judgement(case, judge, view, draw) for judge, draw in self._draws), return_exceptions=True
        )
        draft.judgements = tuple(r for r in results if isinstance(r, Judgement))
        failures = [r for r in results if isinstance(r, BaseException)]
        hard = [f for f in failures if not isinstance(f, UnreadableJudgement)]
        if hard:
            raise hard[0]
        told = "; ".join(dict.fromkeys(error_text(f) for f in failures))
        if not any(j.judge == judge_name(self._draws[0][0]) for j in draft.judgements):
            draft.status, draft.error = "unscored", told
        elif told:
            # What the first judge says counts where the gates take it alone: the others' silence is for them to weigh.
            draft.notes += (f"not every judgement could be read: {told}",)

    # ---- what a record is made of -----------------------------------------------------------------

    def _record(self, draft: Draft) -> Record:
        case = draft.case
        about = self.subject(case.model, case.condition)
        return draft.record(self.key(case), self.plan_hash, self.instrument, about)
