"""Numbers and bars that only the page shows."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_hush.model import Usage
from pytest_hush.report.html import tables, view
from pytest_hush.report.html.svg import WIDTH, Axis, axis_of, interval_bar, stacked_bar
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(3, 2), conditions="vector,oracle", invitations=True)
ARMS = [("openai/test", "none"), ("openai/test", "vector"), ("openai/test", "oracle")]


def test_a_heat_map_holds_means_and_counts_and_the_worst_comes_first() -> None:
    records = make_records(
        PLAN, lambda c: {"vector": 0.25, "oracle": 1.0 if c.persona == "p02" else 0.5}[c.condition.name]
    )
    first, second = tables.heats(records, ARMS)
    assert (first.condition, second.condition) == ("oracle", "vector")
    assert first.cells["attitude_reversal", "p02"] == (100.0, 2)
    assert first.cells["attitude_reversal", "p01"] == (50.0, 2)
    assert set(second.cells.values()) == {(25.0, 2)}
    assert second.worst == 25.0
    assert first.personas == ("p01", "p02", "p03")
    assert tables.heats([r for r in records if r.condition == "none"], ARMS) == []


def test_costs_are_by_arm_and_an_unknown_price_is_no_zero() -> None:
    records = [replace(r, latency_s=float(n)) for n, r in enumerate(make_records(PLAN))]
    found = {c.condition: c for c in tables.costs(records, ARMS)}
    own = [r for r in records if r.condition == "vector" and r.reply]
    assert found["vector"].replies == len(own)
    assert found["vector"].cost_usd == pytest.approx(0.001 * len(own))
    times = sorted(r.latency_s for r in own)
    assert found["vector"].p95_s == times[-(-95 * len(times) // 100) - 1]
    assert found["vector"].retries == 0
    free = [replace(r, usage=Usage(5, 5, None)) if r is own[0] else r for r in records]
    assert {c.condition: c.cost_usd is None for c in tables.costs(free, ARMS)} == {
        "none": False, "vector": True, "oracle": False,
    }  # fmt: skip


def test_the_parts_of_exposure_add_up_to_uis() -> None:
    plan = make_plan(make_pack(4, 3))
    records = [
        replace(r, exposure=replace(r.exposure, exact=n % 3 == 0)) if r.condition == "vector" else r
        for n, r in enumerate(make_records(plan, lambda c: 0.5))
    ]
    summary = summary_of(records, plan)
    _, (row,) = view.decomposition(summary)
    uis = summary.estimate("openai/test", "vector", "uis")
    assert uis is not None
    assert row["parts"].endswith(f"= {uis.value:.1f}")
    closed = summary_of(make_records(plan, exact=None, retrieved=None), plan)
    assert view.decomposition(closed)[1] == []


@pytest.mark.parametrize(
    "values, signed, axis",
    [
        ([14.2, 22.3, 25.0], False, (0, 50)),
        ([45.0, 55.0], False, (0, 100)),
        ([99.9], False, (0, 100)),
        ([], False, (0, 1)),
        ([None, 0.0], False, (0, 1)),
        ([-3.0, 13.0], True, (-5, 20)),
        ([3.0], True, (0, 5)),
        ([0.004], False, (0, 0.005)),
    ],
)
def test_an_axis_is_round_and_holds_every_value(
    values: list[float | None], signed: bool, axis: tuple[float, float]
) -> None:
    found = axis_of(values, signed=signed, most=100.0)
    assert (found.low, pytest.approx(found.high)) == axis
    assert all(found.low <= v <= found.high for v in values if v is not None)


def places(markup: str, name: str) -> list[tuple[float, float]]:
    found = re.findall(rf'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" class="{name}"/>', markup)
    return [(float(x), float(w)) for x, w in found]


def test_a_bar_shows_estimate_interval_and_the_side_that_is_not_allowed() -> None:
    bar = interval_bar(Axis(0, 100), 25.0, 10.0, 50.0, limit=75.0, tone="pass")
    assert places(bar, "band pass") == [(WIDTH * 0.1, WIDTH * 0.4)]
    assert places(bar, "beyond") == [(WIDTH * 0.75, WIDTH * 0.25)]
    assert f'cx="{WIDTH * 0.25}"' in bar
    flipped = interval_bar(Axis(0, 100), 25.0, None, None, limit=75.0, at_least=True)
    assert places(flipped, "beyond") == [(0, WIDTH * 0.75)]
    assert "band" not in flipped
    assert "<text" not in bar
    outside = interval_bar(Axis(0, 10), 50.0, -5.0, 60.0)
    assert places(outside, "band") == [(0, WIDTH)]


def test_stacked_parts_stand_side_by_side() -> None:
    bar = stacked_bar(Axis(0, 50), [(10.0, "exposed"), (15.0, "other")])
    assert places(bar, "part exposed") == [(0, WIDTH * 0.2)]
    assert places(bar, "part other") == [(WIDTH * 0.2, WIDTH * 0.3)]


def test_a_class_name_cannot_leave_its_attribute() -> None:
    assert '"><script>' not in interval_bar(Axis(0, 1), 0.5, 0.1, 0.9, tone='"><script>')
