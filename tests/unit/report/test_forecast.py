"""The most that a plan can cost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_hush.model import Condition, Usage
from pytest_hush.models import price
from pytest_hush.models.tokens import most_tokens
from pytest_hush.report import forecast
from pytest_hush.run.prompt import build_prompt
from tests.unit.factories import make_pack, make_plan

PLAN = make_plan(make_pack(3, 2), models=["openai/gpt-4o"], conditions="vector,full-context")
MODEL = SimpleNamespace(name="openai/gpt-4o", max_tokens=800)


@pytest.mark.parametrize(
    "name, memory, tokens",
    [
        ("none", None, 0),
        ("vector", None, 1500),
        ("vector+x", None, 1500),
        ("full-context", None, 24_000),
        ("full-context", SimpleNamespace(budget=3584), 3584),
        ("oracle", None, 600),
        ("python:m:a", None, 600),
    ],
)
def test_memory_text_by_condition(name: str, memory: object, tokens: int) -> None:
    assert forecast.memory_tokens(Condition.parse(name), memory) == tokens


def test_the_bound_is_above_every_call_of_the_plan() -> None:
    bound = forecast.replies(PLAN, MODEL.name, MODEL, {}).dollars  # type: ignore[union-attr]
    assert bound is not None
    memory = {"none": "", "vector": "word " * 500, "full-context": "four" * 24_000}
    total = 0.0
    for case in PLAN.cases:
        text = memory[case.condition.name]
        # Four characters are a token here, as in English; the bound may not rest on that.
        tokens = sum(len(m.content) // 4 + 8 for m in build_prompt(case.text, text).messages)
        one = price(MODEL, Usage(tokens, 800))
        assert one is not None
        total += one
    assert total < bound
    without = price(MODEL, Usage(most_tokens(build_prompt(PLAN.cases[0].text, "")), 800))
    assert without is not None
    assert bound > 2 * without * len(PLAN.cases)


def test_an_unknown_price_is_said_and_a_judge_has_its_own_line() -> None:
    judge = SimpleNamespace(name="openai/gpt-4o", model=MODEL)
    generator, judged = forecast.lines(PLAN, {MODEL.name: None}, {}, [judge])
    assert "an unknown price" in generator
    number = len(PLAN.probe_cases())
    one = price(MODEL, Usage(3000, 800))
    assert one is not None
    assert judged.endswith(f"at most ${one * number:.2f} for {number} judgements")
    assert "it calls no model" in forecast.lines(PLAN, {}, {}, [SimpleNamespace(name="embedded")])[0]
    assert "not known" in forecast.lines(PLAN, {}, {}, [None])[0]


def test_the_judges_of_shared_histories_read_more() -> None:
    shared = make_plan(make_pack(3, 2), models=["openai/gpt-4o"], conditions="vector,vector+shared")
    assert forecast.judge_input(PLAN) == 3000
    assert forecast.judge_input(shared) == 3000 + 45, "one other disclosure a persona"
    (line,) = forecast.lines(shared, {}, {}, [SimpleNamespace(name="openai/gpt-4o", model=MODEL)])
    assert "about 3,045 tokens in" in line


def test_every_judge_is_counted_with_its_draws() -> None:
    model = SimpleNamespace(name="openai/gpt-4o", reply=print)
    asked = SimpleNamespace(name="openai/gpt-4o", model=model)
    number = len(PLAN.probe_cases())
    found = forecast.lines(PLAN, {}, {}, [SimpleNamespace(name="embedded"), asked], 3)
    assert found[0].startswith("  judge embedded")
    assert found[1].endswith(f"for {3 * number} judgements")
