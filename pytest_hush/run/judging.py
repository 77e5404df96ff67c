"""Views judged without a run around them: for calibration and attacks, under the same limits, retries and cache."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_hush.errors import UnreadableJudgement
from pytest_hush.model import NONE, Case, Judgement, JudgeView
from pytest_hush.protocols import Judge
from pytest_hush.run.guard import Desk, under_guard
from pytest_hush.run.pool import call
from pytest_hush.run.retry import RetryPolicy
from pytest_hush.run.rooms import built_in
from pytest_hush.run.stages import Stages
from pytest_hush.run.wording import error_text
from pytest_hush.store import Cache


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one view: a judgement, or why it is `unreadable`, or the `error` that kept it from being made."""

    judgement: Judgement | None
    unreadable: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """`in_flight` bounds concurrent calls to the judge's model; `seed` shuffles the order in which views are judged."""

    in_flight: int = 16
    seed: int = 0
    policy: RetryPolicy = field(default_factory=RetryPolicy)


def judge_views(
    judge: Judge,
    views: Sequence[JudgeView],
    *,
    options: JudgingOptions | None = None,
    cache: Cache | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Judged]:
    """One answer a view, in the order of `views`; they are asked in an order that the seed shuffles.

    Judgements come from `cache`, and go there, as in a run: the same judge on the same view is asked once. The judge is
    closed at the end. `on_done` is told how many are done. Failures are told in the answers; nothing is raised for one.
    """
    return asyncio.run(_judge_views(judge, views, options or JudgingOptions(), cache, on_done))


async def _judge_views(
    judge: Judge,
    views: Sequence[JudgeView],
    options: JudgingOptions,
    cache: Cache | None,
    on_done: Callable[[int], None] | None,
) -> list[Judged]:
    rooms = built_in()
    desk = Desk.create(options.in_flight, options.policy, None, rooms.price, rooms.max_price)
    workers = max(2, os.cpu_count() or 2)
    stages = Stages(desk, cache, "", workers=workers, in_flight=options.in_flight, explain=False)
    guarded = under_guard(judge, "judge", desk, options.in_flight, {})
    # A judge without a model of ours is bounded here: its own client may not be.
    turns = asyncio.Semaphore(4 * options.in_flight)
    found: list[Judged] = [Judged(None)] * len(views)
    done = 0

    async def one(place: int) -> None:
        nonlocal done
        view = views[place]
        case = Case("probe", view.probe_id, view.probe, "", NONE, "calibration", invited=view.invited)
        async with turns:
            try:
                found[place] = Judged(await stages.judgement(case, guarded, view))
            except UnreadableJudgement as error:
                found[place] = Judged(None, unreadable=error_text(error))
            except Exception as error:  # one's own judge may raise anything
                found[place] = Judged(None, error=error_text(error))
        done += 1
        if on_done is not None:
            on_done(done)

    order = list(range(len(views)))
    random.Random(options.seed).shuffle(order)
    try:
        await asyncio.gather(*(one(place) for place in order))
    finally:
        close = getattr(judge, "close", None)
        if callable(close):
            await asyncio.gather(call(stages.pool, close), return_exceptions=True)
        if cache is not None:
            await call(desk.io, cache.close)
        stages.close()
        desk.models.shutdown()
        desk.io.shutdown()
    return found
