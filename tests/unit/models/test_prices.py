"""Prices come from a table, and a model that is not in it has none."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import pytest

from pytest_hush.model import Message, Prompt, Usage
from pytest_hush.models import max_price, price, resolve_model
from pytest_hush.models.tokens import count_tokens, most_tokens, token_counter

MILLION = Usage(1_000_000, 0)


@dataclass
class Priced:
    name: str
    price_ref: tuple[str, str] | None


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the price table must not reach for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_known_models() -> None:
    assert price("openai/gpt-4o", MILLION) == pytest.approx(2.5)
    assert price("openai/gpt-4o", Usage(0, 1_000_000)) == pytest.approx(10)
    assert price("anthropic/claude-sonnet-4-6", Usage(1000, 100)) == pytest.approx(0.0045)


def test_an_endpoint_is_priced_by_its_address() -> None:
    assert (price(Priced("ds/x", ("https://api.deepseek.com/v1", "deepseek-v4-flash")), MILLION) or 0) > 0
    assert price(Priced("openai-like/x", ("http://localhost:8000/v1", "gpt-4o")), MILLION) is None
    assert price(Priced("openai/gpt-4o", None), MILLION) is None


@pytest.mark.parametrize("name", ["nobody/x", "openai/no-such-model-9", "python:app:reply", "custom", "", "openai/"])
def test_unknown_is_none_and_never_a_guess(name: str) -> None:
    assert price(name, MILLION) is None


def test_models_of_this_process_are_free() -> None:
    prompt = Prompt((Message("user", "hello"),))
    assert price("local", MILLION) == 0
    assert price(resolve_model("parrot/0.5"), MILLION) == 0
    assert max_price(resolve_model("parrot"), prompt) == 0


def test_the_most_a_call_can_cost() -> None:
    text = "Where do I keep the buttons of my grandmother's winter coat? " * 40
    prompt = Prompt((Message("system", "Be brief."), Message("user", text)), max_tokens=800)
    most = max_price("openai/gpt-4o", prompt)
    likely = price("openai/gpt-4o", Usage(count_tokens(text), 300))
    assert most is not None
    assert likely is not None
    assert likely < most < 4 * likely
    assert max_price("nobody/x", prompt) is None


def test_token_counts() -> None:
    assert [count_tokens(t) for t in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
    assert token_counter(object()) is count_tokens
    assert token_counter(resolve_model("parrot"))("abcde") == 2
    japanese = "部屋の片付けのこつを三つ教えてください。"
    assert most_tokens(Prompt((Message("user", japanese),))) > len(japanese)
