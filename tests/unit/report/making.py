"""Summaries of made-up runs for the report's tests."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from pytest_hush.gate import estimates, judge
from pytest_hush.gate.invited import invitation_contrasts
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.report.summary import Summary, summarise
from pytest_hush.thresholds import Thresholds, load_thresholds

TODAY = datetime.date(2026, 6, 1)


def summary_of(records: Sequence[Record], plan: Plan, thresholds: Thresholds | None = None, **options: Any) -> Summary:
    """The summary of `records` under `thresholds` (by default the bundled ``demo``); `options` go to `summarise`."""
    thresholds = thresholds or load_thresholds("demo")
    verdicts = [] if options.get("stopped") else judge(records, plan, thresholds, mode="pr", today=TODAY)
    told = {"contrasts": invitation_contrasts(records, plan), **options}
    return summarise(records, plan, thresholds, estimates(records, plan), verdicts, mode="pr", **told)
