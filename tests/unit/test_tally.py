"""What the live table counts: each case once, whoever tells of it; the pace of the last minute; no score."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_hush.model import Usage
from pytest_hush.plan import identity
from pytest_hush.plugin.progress import Progress
from pytest_hush.plugin.tally import Row, Tally, in_words, one_line
from pytest_hush.run.engine import Progress as Snapshot
from tests.unit.factories import make_pack, make_plan, make_record

PLAN = make_plan(make_pack(2, 1), conditions="vector", models=["openai/a"])
IDENTITIES = [identity(c) for c in PLAN.cases]
ARMS = [("openai/a", "none"), ("openai/a", "vector"), ("openai/a", "absent")]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def tally(clock: Clock | None = None) -> Tally:
    found = Tally(clock or Clock())
    found.plan(IDENTITIES, ARMS)
    return found


def test_rows_are_in_plan_order_and_count_each_case_once() -> None:
    found = tally()
    vector = [c for c in PLAN.cases if c.condition.name == "vector"]
    for case in vector[:2]:
        found.record(make_record(case, PLAN, v=1.0))
        found.report(identity(case))
    found.report(identity(vector[2]))  # measured in another process: nothing but that is known
    found.record(make_record(vector[3], PLAN, status="error"))
    none = sum(c.condition.name == "none" for c in PLAN.cases)
    assert found.rows() == [
        Row("openai/a", "none", 0, none, 0, None),
        Row("openai/a", "vector", 4, len(vector), 1, pytest.approx(0.003)),
    ]
    assert (found.done, found.planned) == (4, len(PLAN.cases))


def test_a_price_that_nobody_knows_is_none() -> None:
    found = tally()
    case = next(c for c in PLAN.cases if c.condition.name == "none")
    found.record(replace(make_record(case, PLAN), usage=Usage(1, 1, None)))
    assert found.rows()[0].dollars is None


def test_the_time_to_come_follows_the_last_minute() -> None:
    clock = Clock()
    found = Tally(clock)
    found.plan(((m, "none", str(k), False, 0) for m in ("a",) for k in range(1000)), [("a", "none")])
    assert found.left_s() is None
    for k in range(100):  # ten a second, then one a second
        clock.now += 0.1 if k < 40 else 1.0
        found.report(("a", "none", str(k), False, 0))
    left = found.left_s()
    assert left == pytest.approx(900, rel=0.05)
    clock.now += 60
    assert (found.left_s() or 0) > 1.8 * left  # nothing was done meanwhile


def test_nothing_is_foretold_of_a_few_seconds_or_of_an_end() -> None:
    clock = Clock()
    found = tally(clock)
    for k, case in enumerate(PLAN.cases):
        clock.now += 0.5
        found.report(identity(case))
        if k < 8:
            assert found.left_s() is None
    assert found.left_s() is None


@pytest.mark.parametrize(
    "seconds, words", [(0, "5 s"), (41, "40 s"), (100, "2 min"), (3000, "50 min"), (7800, "2 h 10 min")]
)
def test_time_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_one_line_says_what_is_waited_for() -> None:
    waiting = "openai/a: 429 Too Many Requests, again in 12 s"
    snapshots = [Snapshot(3, 67, 7, 2, 12, 0, 0.25, ""), Snapshot(1, 2, 1, 1, 3, 8, 0.5, waiting)]
    assert one_line(tally(), snapshots) == (
        f"hush 0/{len(PLAN.cases)} cases | 8 in flight | 15 calls, 8 from the cache | 3 retries | $0.7500 | {waiting}"
    )


# ---- where it may draw ------------------------------------------------------------------------------


def config(verbosity: int = 0, collectonly: bool = False, capture: str = "fd", log_cli: bool = False) -> Any:
    return SimpleNamespace(
        get_verbosity=lambda: verbosity,
        option=SimpleNamespace(collectonly=collectonly),
        getoption=lambda name, default: capture,
        getini=lambda name: log_cli,
    )


@pytest.mark.parametrize(
    "tty, term, options, mode",
    [
        (True, "xterm-256color", {}, "live"),
        (True, "dumb", {}, "lines"),
        (False, "xterm", {}, "lines"),
        (True, "xterm", {"capture": "no"}, "lines"),
        (True, "xterm", {"log_cli": True}, "lines"),
        (True, "xterm", {"verbosity": -1}, ""),
        (True, "xterm", {"verbosity": 1}, ""),
        (True, "xterm", {"collectonly": True}, ""),
    ],
)
def test_a_table_only_where_nothing_tears_it(
    monkeypatch: pytest.MonkeyPatch, tty: bool, term: str, options: dict[str, Any], mode: str
) -> None:
    monkeypatch.setenv("TERM", term)
    assert Progress.wanted(config(**options), SimpleNamespace(isatty=tty)) == mode  # type: ignore[arg-type]
    assert Progress.wanted(config(**options), None) == ""
