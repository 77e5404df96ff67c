from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_hush.errors import FatalModelError, ModelError, TransientError
from pytest_hush.model import Prompt, Reply, Usage
from pytest_hush.run import Guard, RetryPolicy, build_prompt
from pytest_hush.run.guard import Desk

from .standins import QUICK, Scripted, Sleeper

PROMPT = build_prompt("hello", "")


def guard_of(model: object, policy: RetryPolicy = QUICK, limit: int = 8) -> Guard:
    desk = Desk.create(limit, policy, None, lambda *_: 0.5, lambda *_: 1.0)
    return Guard(model, "openai/test", desk, limit)


def test_attempts_cost_and_attributes() -> None:
    def script(number: int, prompt: Prompt) -> str:
        if number < 3:
            raise TransientError("busy", status=503)
        return "hello"

    model = Scripted(script=script)
    guard = guard_of(model)
    reply = asyncio.run(guard.reply(PROMPT))
    assert (reply.text, reply.attempts, reply.usage.cost_usd) == ("hello", 3, 0.001)
    assert guard.deterministic is True
    assert not hasattr(guard, "reply_json")


def test_the_structured_form_of_a_reply_is_under_the_same_limits() -> None:
    class Structured(Scripted):
        async def reply_json(self, prompt: Prompt, schema: object) -> Reply:
            reply = await self.reply(prompt)
            return replace(reply, text=str(schema))

    def script(number: int, prompt: Prompt) -> str:
        if number == 1:
            raise TransientError("busy", status=503)
        return "hello"

    guard = guard_of(Structured(script=script))
    reply = asyncio.run(guard.reply_json(PROMPT, {"type": "object"}))
    assert (reply.text, reply.attempts) == ("{'type': 'object'}", 2)


def test_a_plain_text_and_an_unknown_price_are_filled_in() -> None:
    class Plain:
        def reply(self, prompt: Prompt) -> str:
            return "hi"

    reply = asyncio.run(guard_of(Plain()).reply(PROMPT))
    assert (reply.text, reply.usage.cost_usd) == ("hi", 0.5)
    assert reply.latency_s > 0


def test_what_is_no_reply_is_a_model_error() -> None:
    class Wrong:
        def reply(self, prompt: Prompt) -> int:
            return 3

    with pytest.raises(ModelError, match="answered with int"):
        asyncio.run(guard_of(Wrong()).reply(PROMPT))


def test_the_models_own_limit_holds() -> None:
    model = Scripted(delay_s=0.002)
    model.in_flight = 2  # type: ignore[attr-defined]
    guard = guard_of(model)

    async def main() -> None:
        await asyncio.gather(*(guard.reply(PROMPT) for _ in range(12)))

    asyncio.run(main())
    assert model.peak == 2


def test_concurrency_is_found_by_doubling() -> None:
    model = Scripted(delay_s=0.003)
    guard = guard_of(model, limit=8)

    async def main() -> None:
        await asyncio.gather(*(guard.reply(PROMPT) for _ in range(40)))

    asyncio.run(main())
    assert model.peak == 8
    assert guard.limiter.active == 0


def test_rate_limits_are_no_failures() -> None:
    """Every third request is refused with 429; all are answered in the end."""

    def script(number: int, prompt: Prompt) -> str:
        if number % 3 == 0:
            raise TransientError("slow down", status=429, retry_after=0.005)
        return "ok"

    model = Scripted(script=script)
    guard = guard_of(model)

    async def main() -> list[Reply]:
        return await asyncio.gather(*(guard.reply(PROMPT) for _ in range(60)))

    replies = asyncio.run(main())
    assert {r.text for r in replies} == {"ok"}
    assert sum(r.attempts for r in replies) == model.calls


def test_a_permanent_rate_limit_ends_the_model_at_its_deadline() -> None:
    def script(number: int, prompt: Prompt) -> str:
        raise TransientError("quota", status=429)

    model = Scripted(script=script)
    guard = guard_of(model, RetryPolicy(deadline_s=0.2, first_s=0.01, longest_s=0.02, jitter_s=0.0))

    async def main() -> list[BaseException]:
        found = await asyncio.gather(*(guard.reply(PROMPT) for _ in range(30)), return_exceptions=True)
        calls = model.calls
        with pytest.raises(FatalModelError):
            await guard.reply(PROMPT)
        assert model.calls == calls
        return [f for f in found if isinstance(f, BaseException)]

    errors = asyncio.run(main())
    assert len(errors) == 30
    assert all("429 Too Many Requests" in str(e) for e in errors)


def test_a_call_that_never_answers_ends_at_the_deadline() -> None:
    guard = guard_of(Sleeper(1.0), replace(QUICK, deadline_s=0.1))
    with pytest.raises(ModelError, match="no answer for 0 s, 1 attempt"):
        asyncio.run(guard.reply(PROMPT))


def test_the_waiting_line_says_why() -> None:
    seen: list[str] = []

    def script(number: int, prompt: Prompt) -> str:
        if number == 1:
            raise TransientError("slow down", status=429, retry_after=0.05)
        seen.extend(guard._desk.counters.waiting.values())
        return "ok"

    guard = guard_of(Scripted(script=script))
    asyncio.run(guard.reply(PROMPT))
    assert seen == ["openai/test: 429 Too Many Requests, next try in 0 s"]
    assert guard._desk.counters.waiting == {}
    assert guard._desk.counters.cost_usd == Usage(cost_usd=0.001).cost_usd


def all_of(guard: Guard, count: int) -> tuple[list[str], float]:
    async def main() -> list[str]:
        found = await asyncio.gather(*(guard.reply(PROMPT) for _ in range(count)), return_exceptions=True)
        return [str(f) for f in found if isinstance(f, FatalModelError)]

    started = time.monotonic()
    return asyncio.run(main()), time.monotonic() - started


def hangs_until_its_timeout(number: int, prompt: Prompt) -> str:
    raise TransientError("timed out")


def asks_for_an_hour(number: int, prompt: Prompt) -> str:
    raise TransientError("quota", status=429, retry_after=3600)


@pytest.mark.parametrize(
    ("script", "said"),
    [(hangs_until_its_timeout, "last: timed out"), (asks_for_an_hour, "the server asked to wait longer")],
)
def test_a_model_that_never_answers_is_given_up_as_a_whole(script: Callable[[int, Prompt], str], said: str) -> None:
    policy = RetryPolicy(deadline_s=0.8, first_s=0.1, longest_s=30.0, jitter_s=0.2)
    guard = guard_of(Scripted(script=script, delay_s=0.3), policy)
    errors, seconds = all_of(guard, 62)
    assert seconds < 2
    assert len(errors) >= 60  # but for the one or two that reached a deadline of their own
    assert all("no answer for 1 s," in e and said in e and "deadline of 0.8 s" in e for e in errors)
    assert guard.stopped


def test_calls_in_flight_are_cut_when_the_model_is_given_up() -> None:
    guard = guard_of(Scripted(delay_s=30), replace(QUICK, deadline_s=0.3), limit=4)
    guard.limiter.allowed = 4
    assert all_of(guard, 9)[1] < 1.5


def test_a_slow_model_that_answers_now_and_then_is_not_given_up() -> None:
    def script(number: int, prompt: Prompt) -> str:
        if number % 2:
            raise TransientError("busy", status=503)
        return "ok"

    guard = guard_of(Scripted(script=script, delay_s=0.06), replace(QUICK, deadline_s=0.3), limit=1)
    errors, seconds = all_of(guard, 8)
    assert errors == []
    assert seconds > 0.6
    assert not guard.stopped


@pytest.mark.parametrize(
    ("reply", "field"),
    [
        (Reply("x", latency_s=float("nan")), "latency_s is nan"),
        (Reply("x", usage=Usage(cost_usd=float("nan"))), "usage.cost_usd is nan"),
        (Reply("x", usage=Usage(cost_usd=-0.01)), "usage.cost_usd is -0.01"),
        (Reply("x", usage=Usage(input_tokens=-1)), "usage.input_tokens is -1"),
        (Reply("x", returned_model=object()), "returned_model is object"),  # type: ignore[arg-type]
        (Reply(b"x"), "text is bytes"),  # type: ignore[arg-type]
        (Reply("x", usage=None), "usage is NoneType"),  # type: ignore[arg-type]
        (Reply("x", notes=(3,)), "notes is 3"),  # type: ignore[arg-type]
    ],
)
def test_a_reply_with_a_wrong_field_is_an_error_that_names_it(reply: Reply, field: str) -> None:
    class Wrong:
        def reply(self, prompt: Prompt) -> Reply:
            return reply

    guard = guard_of(Wrong())
    with pytest.raises(ModelError, match=f"whose {field}; expected"):
        asyncio.run(guard.reply(PROMPT))
    assert guard._desk.counters.cost_usd == 0
