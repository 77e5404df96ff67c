"""Names in gate files that no condition can have, and files of which nothing can be judged."""

from __future__ import annotations

import pytest

from pytest_hush.gate.names import nothing_to_judge, unknown_names
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import VERSUS, gates

PLAN = make_plan(make_pack(3, 2), conditions="vector")


def on(condition: str, *more: str) -> str:
    return "\n".join((f'condition = "{condition}"', "at_most = 20", *more))


@pytest.mark.parametrize(
    "condition",
    [
        "vector", "*", "none", "mem0", "a-mem|memu*", "mem0+boundary+guard", "*+revoked", "oracle|oracle+guard",
        "python:mine:memory", "python:*", "*my-store", "full-*", "custom", "assistant", "mem[0u]",
    ],
)  # fmt: skip
def test_a_gate_for_a_memory_that_exists_is_no_mistake(condition: str) -> None:
    assert unknown_names(gates(on(condition)), PLAN) == []


@pytest.mark.parametrize(
    "condition, meant",
    [
        ("mem00", "mem0"), ("vector|mem00", "mem0"), ("vectr*", "vector"), ("Vector", "vector"),
        ("mem0+gard", "mem0+guard"), ("*+gard", ""), ("pyton:mine:memory", ""), ("zep", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("severity", ["block", "warn"])
def test_a_name_that_nothing_can_have_is_told_with_what_was_meant(condition: str, meant: str, severity: str) -> None:
    (told,) = unknown_names(gates(on("*"), on(condition, f'severity = "{severity}"')), PLAN)
    assert told.startswith("Thresholds t@7, gate 'g1': condition '")
    assert (f"did you mean {meant}" in told) if meant else True


def test_a_hook_of_others_is_asked_for_a_name_and_leaves_patterns_open() -> None:
    file = gates(on("acme"), on("acme*"), on("mem00"))
    assert len(unknown_names(file, PLAN)) == 3
    (told,) = unknown_names(file, PLAN, lambda name: name == "acme")
    assert "'mem00'" in told


def test_a_file_of_which_nothing_can_be_judged() -> None:
    assert nothing_to_judge(gates(on("mem0"), on("vector")), PLAN, ()) == ""
    told = nothing_to_judge(gates(on("mem0"), on("vector", 'severity = "warn"')), PLAN, ())
    assert told == (
        "Thresholds t@7: no gate that blocks can be judged on this plan (gate 'g0': 'mem0' matches no planned "
        "condition); planned are none, vector."
    )
    assert nothing_to_judge(gates(on("vector", 'severity = "warn"')), PLAN, ()) == ""
    assert "no --hush-baseline is given" in nothing_to_judge(gates(VERSUS), PLAN, ())
    assert nothing_to_judge(gates(VERSUS), PLAN, ("baseline",)) == ""
    assert "no invited turns" in nothing_to_judge(gates('metric = "uptake_gain"\nat_least = 20'), PLAN, ())
