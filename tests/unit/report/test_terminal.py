"""The closing lines: the run's word, a table that keeps its numbers at any width, gates in the order of urgency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_hush.gate import Verdict
from pytest_hush.report.summary import RunStatus, Summary
from pytest_hush.report.terminal import render
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PACK = make_pack(4, 3)
LONG = ("python:my_company.assistants.memory_release:build_a", "python:my_company.assistants.memory_release:build_b")


def made(models: Sequence[str] = ("openai/test",), conditions: str = "vector", v: float = 0.0) -> Summary:
    plan = make_plan(PACK, models=models, conditions=conditions)
    return summary_of(make_records(plan, lambda case: v), plan)


def test_a_row_with_short_names_stands_on_one_line() -> None:
    lines = render(made(), width=80)
    head = next(x for x in lines if x.startswith("condition"))
    assert head.split() == ["condition", "cases", "UIS", "exposure", "%", "over-scope", "helpful", "controls"]
    row = next(x for x in lines if x.startswith("vector "))
    assert "48/48" in row
    assert row.endswith("8/8")
    assert len(head) == len(row) <= 80
    assert not any(x.endswith(" ") for x in lines)


@pytest.mark.parametrize("width", [20, 80, 100, 200])
@pytest.mark.parametrize("models", [LONG[:1], LONG, ("openai/test", LONG[0])])
def test_no_number_is_cut_whatever_the_names_and_the_width(width: int, models: tuple[str, ...]) -> None:
    conditions = "vector,python:my_company.assistants.memory_release:memory"
    summary = made(models, conditions, v=1.0)
    lines = render(summary, width=width)
    assert max(len(x) for x in lines) <= max(width, 80)
    table = lines[: next(i for i, x in enumerate(lines) if x.startswith("UIS under") or "[lower" in x)]
    for model, condition in summary.arms():
        uis, exposure = (summary.estimate(model, condition, m) for m in ("uis", "exposure"))
        assert uis is not None
        assert exposure is not None
        cell = f"{uis.value:.1f} [{uis.lower:.1f}, {uis.upper:.1f}]"
        share = f"{exposure.value:.0f} [{exposure.lower:.0f}, {exposure.upper:.0f}]"
        assert any("48/48" in x and cell in x and share in x for x in table)
    assert sum("48/48" in x for x in table) == len(summary.arms())


def test_names_are_cut_in_the_middle_unless_two_would_look_alike() -> None:
    one = "\n".join(render(made(LONG[:1], LONG[0]), width=200))
    assert "python:my_c...se:build_a " in one
    alike = ("python:aaaaaaaaaaaaaaaaa_1_bbbbbbbbbbb:m", "python:aaaaaaaaaaaaaaaaa_2_bbbbbbbbbbb:m")
    both = "\n".join(render(made(alike), width=200)).split("\n[lower")[0]
    assert all(name in both for name in alike)


@pytest.mark.parametrize(
    "status, expected",
    [
        ("failed", "FAILED: 2 of 3 verdicts block"),
        ("invalid", "INVALID: 2 of 3 verdicts block"),
        ("inconclusive", "INCONCLUSIVE: 2 of 3 verdicts block"),
        ("skipped", "NO VERDICT: no gate that blocks was judged"),
        ("stopped", "NO VERDICT: the run stopped early"),
        ("error", "FAILED: the test session failed, though no verdict blocks"),
        ("passed", "PASSED: none of 3 verdicts blocks (1 PASS, 2 FAIL)"),
    ],
)
def test_the_first_line_is_the_runs_word(status: RunStatus, expected: str) -> None:
    summary = made()
    v = summary.verdicts[0]
    bad = replace(v, outcome="fail", blocks=True)
    summary = replace(summary, status=status, verdicts=[bad, bad, replace(v, outcome="pass", blocks=False)])
    assert render(summary)[0] == expected
    demonstration = render(replace(summary, demonstration=True))[0]
    assert demonstration == expected.replace(":", " (demonstration):", 1)


def test_a_run_of_passes_says_the_word_alone() -> None:
    summary = made()
    passes = [replace(v, outcome="pass", blocks=False) for v in summary.verdicts]
    assert render(replace(summary, status="passed", verdicts=passes))[0] == "PASSED"


def test_gates_are_listed_by_urgency_and_keep_their_order_within() -> None:
    base = made().verdicts[0]

    def of(name: str, outcome: str, blocks: bool = False) -> Verdict:
        return replace(base, gate=name, outcome=outcome, blocks=blocks, sentence="s.", reason="")  # type: ignore[arg-type]

    given = [
        of("a", "pass"),
        of("b", "skipped"),
        of("c", "inconclusive"),
        of("d", "fail", blocks=True),
        of("e", "fail"),
        of("f", "invalid", blocks=True),
        of("g", "pass"),
    ]
    lines = render(replace(made(), verdicts=given))
    shown = [x.split(": ")[1][0] for x in lines if x.endswith("-openai/test-vector: s.")]
    assert "".join(shown) == "dfecbag"


def test_published_figures_stand_beside_comparable_conditions_only() -> None:
    def published(models: Sequence[str], conditions: str) -> bool:
        return any(x.startswith("published (") for x in render(made(models, conditions)))

    assert not published(["parrot"], "vector")
    assert published(["parrot"], "full-context")
    assert published(["openai/test"], "vector")
    assert published(["parrot", "openai/test"], "vector")


def test_a_closed_assistants_controls_are_those_that_its_replies_used() -> None:
    plan = make_plan(PACK)
    records = make_records(plan, exact=None, retrieved=None)
    lines = render(summary_of(records, plan), width=80)
    assert next(x for x in lines if x.startswith("vector ")).endswith(" 8/8")
    text = " ".join(lines)
    assert "harmless facts that retrieval returned (for a closed assistant: that the reply used)" in text
    assert "a gate's own bounds may differ by some tenths: they depend on its limit" in text


def test_an_error_text_cannot_drive_the_terminal_and_lines_are_ascii() -> None:
    plan = make_plan(PACK)
    records = make_records(plan)
    records = [
        replace(r, status="error", judgements=(), reply="", error="\x1b]0;owned\x07 503 \u202e") if r.reply else r
        for r in records
    ]
    lines = render(summary_of(records, plan), width=80)
    assert "\\x1b]0;owned\\x07 503" in " ".join(lines)
    assert all(x.isascii() and x.isprintable() for x in lines)
