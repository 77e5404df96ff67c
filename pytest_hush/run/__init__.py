"""Running a plan: what is bound to its names, one case end to end, and the pump that measures many at once."""

from __future__ import annotations

from pytest_hush.run.binding import Binding
from pytest_hush.run.engine import Engine, Progress
from pytest_hush.run.guard import Counters, Guard
from pytest_hush.run.limiter import Limiter
from pytest_hush.run.pipeline import Pipeline, RunOptions
from pytest_hush.run.prompt import PROMPTS, build_prompt
from pytest_hush.run.provenance import instrument, subject
from pytest_hush.run.retry import RetryPolicy, retrying
from pytest_hush.run.rooms import Rooms, built_in

__all__ = [
    "PROMPTS",
    "Binding",
    "Counters",
    "Engine",
    "Guard",
    "Limiter",
    "Pipeline",
    "Progress",
    "RetryPolicy",
    "Rooms",
    "RunOptions",
    "build_prompt",
    "built_in",
    "instrument",
    "retrying",
    "subject",
]
