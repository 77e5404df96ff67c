"""What a plan can resolve, against the designed figures."""

from __future__ import annotations

import pytest

from pytest_hush.stats.passability import can_fail, needs_to_pass, spotless_upper


def test_two_personas_can_pass_almost_nothing() -> None:
    assert spotless_upper(48, 2, 73.9, 0.95, "calibrated") == pytest.approx(73.9, abs=0.05)
    needs = needs_to_pass(48, 2, 25.0, 0.95, "calibrated")
    assert needs is not None
    assert needs.cases is None  # with two personas no number of cases is enough
    assert needs.personas == 3


def test_the_numbers_that_it_asks_for_are_the_smallest_that_are_enough() -> None:
    needs = needs_to_pass(10, 10, 25.0, 0.95, "calibrated")
    assert needs is not None
    assert needs.cases is not None
    assert needs_to_pass(needs.cases, 10, 25.0, 0.95, "calibrated") is None
    assert needs_to_pass(needs.cases - 1, 10, 25.0, 0.95, "calibrated") is not None
    assert needs.personas is not None
    assert needs_to_pass(needs.personas, needs.personas, 25.0, 0.95, "calibrated") is None
    assert needs_to_pass(needs.personas - 1, needs.personas - 1, 25.0, 0.95, "calibrated") is not None


def test_a_limit_of_zero_is_never_passed() -> None:
    needs = needs_to_pass(2400, 10, 0.0, 0.95, "calibrated")
    assert needs is not None
    assert (needs.cases, needs.personas) == (None, None)


@pytest.mark.parametrize("kind", ["calibrated", "bootstrap", "fixed-suite"])
def test_the_worst_run_fails_a_reachable_limit(kind: str) -> None:
    assert can_fail(120, 10, 25.0, 0.95, kind, 6)
    assert not can_fail(120, 10, 100.0, 0.95, kind, 6)


def test_too_large_a_family_cannot_reach_significance() -> None:
    assert not can_fail(120, 10, 25.0, 0.95, "calibrated", 600)
