"""The most that a plan's calls can cost, memory text and judge included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_hush.model import Condition, Usage
from pytest_hush.plan import Plan
from pytest_hush.run.draws import varies

FULL_CONTEXT: Final = 24_000
"""Tokens of ``full-context`` where the memory does not say its budget."""
VECTOR_WORDS: Final = 5 * 100
"""Five turns of 100 words."""
OTHER_WORDS: Final = 200
JUDGE_INPUT: Final = 3_000
"""Tokens of a judgement: the rubric, the view, and a reply of 800 tokens."""
JUDGE_DISCLOSURE: Final = 45
"""More for each other disclosure of a persona, which a plan with shared histories tells the judges."""
JUDGE_OUTPUT: Final = 800
_TOKENS_PER_WORD: Final = 3
"""On the high side, like two bytes a token for the rest of a prompt: an English word has about 1.3."""


def memory_tokens(condition: Condition, memory: object) -> int:
    """The most tokens of memory text that one prompt is assumed to hold."""
    if condition.name == "none":
        return 0
    if condition.base == "full-context":
        return int(getattr(memory, "budget", None) or FULL_CONTEXT)
    return _TOKENS_PER_WORD * (VECTOR_WORDS if condition.base == "vector" else OTHER_WORDS)


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a plan's replies of one model take: tokens, and US dollars (None: a price is not known)."""

    input_tokens: int
    output_tokens: int
    dollars: float | None


def replies(plan: Plan, name: str, model: Any, memories: Mapping[str, Any]) -> Bound | None:
    """The bound of all replies of the model `name`; None for one that a fixture brings."""
    from pytest_hush.models import price
    from pytest_hush.models.tokens import most_tokens
    from pytest_hush.run.prompt import build_prompt

    if model is None:
        return None
    limit = int(getattr(model, "max_tokens", None) or 800)
    total: float | None = 0.0
    read = written = 0
    for condition in plan.conditions:
        cases = [c for c in plan.cases if (c.model, c.condition.name) == (name, condition.name)]
        if not cases:
            continue
        memory = memory_tokens(condition, memories.get(condition.name))
        longest = max(most_tokens(build_prompt(c.text, "-" if memory else "")) for c in cases)
        one = price(model, Usage(longest + memory, limit))
        total = None if one is None or total is None else total + one * len(cases)
        read += (longest + memory) * len(cases)
        written += limit * len(cases)
    return Bound(read, written, total)


def judge_input(plan: Plan) -> int:
    """The most tokens that one judgement of this plan is assumed to read."""
    if not any(c.shared for c in plan.conditions):
        return JUDGE_INPUT
    told = Counter(d.persona for d in plan.pack.disclosures)
    return JUDGE_INPUT + JUDGE_DISCLOSURE * (max(told.values(), default=1) - 1)


def judgements(judge: Any, number: int, tokens: int = JUDGE_INPUT) -> float | None:
    """Dollars of `number` judgements of an LLM judge; None where its model's price is not known."""
    from pytest_hush.models import price

    one = price(judge.model, Usage(tokens, JUDGE_OUTPUT))
    return None if one is None else one * number


def lines(
    plan: Plan, models: Mapping[str, Any], memories: Mapping[str, Any], judges: Sequence[Any], repeats: int = 1
) -> list[str]:
    """A line for each generator, and one for each judge; None is a judge that a fixture brings."""
    found = []
    for name, model in models.items():
        count = sum(c.model == name for c in plan.cases)
        bound = replies(plan, name, model, memories)
        size = f"{bound.input_tokens:,} tokens in and {bound.output_tokens:,} out, " if bound else ""
        dollars = _dollars(bound.dollars if bound else None)
        found.append(f"  {name}: at most {size}{dollars} for {count} replies")
    return found + [_judge(plan, judge, repeats) for judge in judges]


def _judge(plan: Plan, judge: Any, repeats: int) -> str:
    name = str(getattr(judge, "name", "") or "custom")
    if getattr(judge, "model", None) is not None:
        number = len(plan.probe_cases()) * (repeats if varies(judge) else 1)
        tokens = judge_input(plan)
        size = f"about {tokens:,} tokens in and {JUDGE_OUTPUT} out each"
        return f"  judge {name}: {size}: at most {_dollars(judgements(judge, number, tokens))} for {number} judgements"
    if name == "embedded":
        return "  judge embedded: $0.00, it calls no model"
    return f"  judge {name}: its price is not known here"


def _dollars(value: float | None) -> str:
    return "an unknown price (the price list has no such model)" if value is None else f"${value:.2f}"
