"""The official SDKs against a real HTTP server: what is sent, what comes back, what a model refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from pytest_hush.errors import RefusedCallError, UsageError
from pytest_hush.model import Reply
from pytest_hush.models import Endpoint, ModelSettings, resolve_model
from pytest_hush.models.remote import RemoteModel
from pytest_hush.secrets import blot
from tests.unit.models import server as s
from tests.unit.models.clients import KEY, PROMPT, Make, anthropic, ask, failure, openai
from tests.unit.models.server import ScriptedServer, Step

# ---- what is sent and what comes back ---------------------------------------------------------------


def test_openai_request_and_reply() -> None:
    with ScriptedServer([s.chat(model="m-1-2026")]) as server:
        (reply,) = ask(openai(server.url))
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where do I keep buttons?"},
        ],
        "max_tokens": 50,
        "temperature": 0.0,
        "seed": 9,
    }
    assert (reply.text, reply.returned_model, reply.attempts, reply.notes) == ("Use a jar.", "m-1-2026", 1, ())
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cost_usd) == (1000, 100, None)
    assert 0 < reply.latency_s < 10


def test_anthropic_request_and_reply() -> None:
    with ScriptedServer([s.message()]) as server:
        (reply,) = ask(anthropic(server.url))
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert KEY in (seen.headers.get("x-api-key") or seen.headers.get("authorization", ""))
    assert seen.body == {
        "model": "claude-x",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Where do I keep buttons?"}],
        "max_tokens": 50,
        "temperature": 0.0,
    }
    assert (reply.text, reply.returned_model, reply.usage.input_tokens) == ("Use a jar.", "claude-x", 1000)


def test_a_set_temperature_wins_over_the_prompts() -> None:
    with ScriptedServer([s.chat()]) as server:
        model = openai(server.url, temperature=0.7)
        ask(model)
    assert server.seen[0].body["temperature"] == 0.7
    assert model.settings["temperature"] == 0.7


@pytest.mark.parametrize("make, reason, answer", [(openai, "length", s.chat), (anthropic, "max_tokens", s.message)])
def test_a_cut_reply_says_so(make: Make, reason: str, answer: Callable[..., Step]) -> None:
    with ScriptedServer([answer("Half an ans", reason=reason)]) as server:
        (reply,) = ask(make(server.url))
    assert reply.text == "Half an ans"
    assert reply.notes == ("cut at max_tokens",)


def test_a_refusal_in_words_is_a_reply() -> None:
    with ScriptedServer([s.chat(None, refusal="I can't help with that.")]) as server:
        (reply,) = ask(openai(server.url))
    assert reply.text == "I can't help with that."


def test_one_model_serves_several_event_loops() -> None:
    with ScriptedServer([s.chat()]) as server:
        model = openai(server.url)
        assert [ask(model)[0].text, ask(model)[0].text] == ["Use a jar."] * 2


def test_calls_run_at_the_same_time_on_one_loop() -> None:
    async def run(model: RemoteModel) -> list[Reply]:
        replies = await asyncio.gather(*(model.reply(PROMPT) for _ in range(16)))
        await model.close()
        return list(replies)

    with ScriptedServer([s.chat()]) as server:
        assert len(asyncio.run(run(openai(server.url)))) == 16
    assert len(server.seen) == 16


def test_an_endpoint_never_sees_the_openai_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-other-key-000000")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer hidden\nX-Team: mine")
    with ScriptedServer([s.chat()]) as server:
        ask(openai(server.url))
    sent = server.seen[0].headers
    assert sent["authorization"] == f"Bearer {KEY}"
    assert not {"openai-organization", "openai-project", "x-team"} & set(sent)


def test_an_endpoint_without_a_key_variable_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with ScriptedServer([s.chat()]) as server:
        model = resolve_model("o/m", settings=ModelSettings(endpoints={"o": Endpoint(server.url)}))
        ask(cast("RemoteModel", model))
    assert server.seen[0].headers["authorization"] == "Bearer no-key"


def test_extra_fields_of_an_endpoint_are_sent_and_recorded() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    with ScriptedServer([s.chat("<think>hm</think> Use a jar.")]) as server:
        endpoints = {"q": Endpoint(server.url, extra=extra)}
        model = cast("RemoteModel", resolve_model("q/m", settings=ModelSettings(endpoints=endpoints)))
        (reply,) = ask(model)
    assert server.seen[0].body["chat_template_kwargs"] == {"enable_thinking": False}
    assert model.settings["extra"] == extra
    assert "thinking" in reply.notes[0]


def test_the_openai_provider_moves_with_a_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with ScriptedServer([s.chat()]) as server:
        model = resolve_model("openai/gpt-4o", settings=ModelSettings(base_url=server.url))
        ask(cast("RemoteModel", model))
    assert server.seen[0].path == "/chat/completions"
    assert model.settings["base_url"] == server.url  # type: ignore[attr-defined]


# ---- what a model refuses ---------------------------------------------------------------------------


def _no_temperature(body: dict[str, Any]) -> Step:
    if "temperature" in body:
        return s.openai_error(
            400,
            "Unsupported value: 'temperature' does not support 0 with this model.",
            param="temperature",
            code="unsupported_value",
        )
    return s.chat()


def test_a_refused_temperature_is_left_out_once_and_for_all() -> None:
    with ScriptedServer(_no_temperature) as server:
        first, second = ask(openai(server.url), PROMPT, PROMPT)
    assert len(server.seen) == 3
    note = ("temperature refused by the model: sent without, its own default applies",)
    assert (first.attempts, first.notes) == (2, note)
    assert (second.attempts, second.notes) == (1, note)


def _new_names(body: dict[str, Any]) -> Step:
    if "max_tokens" in body:
        return s.openai_error(
            400,
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    return _no_temperature(body)


def test_max_completion_tokens_where_the_model_wants_it() -> None:
    with ScriptedServer(_new_names) as server:
        (reply,) = ask(openai(server.url))
    assert server.seen[-1].body["max_completion_tokens"] == 50
    assert "max_tokens" not in server.seen[-1].body
    assert reply.attempts == 3
    assert len(reply.notes) == 2


def test_a_server_that_says_it_in_words_alone() -> None:
    def script(body: dict[str, Any]) -> Step:
        return Step(422, {"detail": "extra field seed not permitted"}) if "seed" in body else s.chat()

    with ScriptedServer(script) as server:
        (reply,) = ask(openai(server.url))
    assert "temperature" in server.seen[-1].body
    assert reply.notes == ("seed refused by the model: sent without",)


def test_anthropic_temperature_refused() -> None:
    def script(body: dict[str, Any]) -> Step:
        if "temperature" in body:
            return s.anthropic_error(400, "invalid_request_error", "`temperature` is deprecated for this model.")
        return s.message()

    with ScriptedServer(script) as server:
        (reply,) = ask(anthropic(server.url))
    assert reply.attempts == 2
    assert reply.notes == ("temperature refused by the model: sent without, its own default applies",)


def test_a_model_that_refuses_for_ever_ends() -> None:
    error = failure(openai, *[s.openai_error(400, "unsupported: temperature, seed, max_tokens")] * 4)
    assert isinstance(error, RefusedCallError)
    assert error.attempts == 4


def test_a_prompt_too_long_is_not_taken_for_a_refused_field() -> None:
    steps = [s.openai_error(400, "max_tokens is too large: context length exceeded, not allowed", param=None), s.chat()]
    with ScriptedServer(steps) as server:
        model = openai(server.url)
        with pytest.raises(RefusedCallError):
            ask(model)
        (reply,) = ask(model)
    assert len(server.seen) == 2
    assert "max_tokens" in server.seen[1].body
    assert reply.notes == ()


# ---- keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec, variable", [("openai/x", "OPENAI_API_KEY"), ("anthropic/x", "ANTHROPIC_API_KEY")])
@pytest.mark.parametrize("value", ["", "  ", "sk-SECRET with blank", "sk-SECRET-é"])
def test_a_missing_or_impossible_key(spec: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=variable) as caught:
        resolve_model(spec)
    assert "SECRET" not in str(caught.value)


def test_a_missing_endpoint_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(UsageError, match="MY_KEY"):
        openai("http://127.0.0.1:1")


def test_no_key_in_what_a_model_shows() -> None:
    model = openai("http://127.0.0.1:1")
    assert "SECRET" not in repr(model) + repr(model.settings) + repr(model._target)


@pytest.mark.parametrize("make, answer", [(openai, s.chat), (anthropic, s.message)])
def test_a_key_that_the_server_sends_back_is_in_no_part_of_the_reply(make: Make, answer: Callable[..., Step]) -> None:
    with ScriptedServer([answer(f"You sent {KEY}!", model=f"m-{KEY}")]) as server:
        (reply,) = ask(make(server.url))
    assert (reply.text, reply.returned_model) == ("You sent <secret>!", reply.returned_model)
    assert "SECRET" not in repr(reply)
    assert reply.notes == ("the server sent a secret back: it was taken out of the reply",)


def test_a_key_is_known_after_its_variable_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "zq-only-here-SECRET-7"
    monkeypatch.setenv("MY_ACCESS", key)
    with ScriptedServer([s.chat(f"You sent {key}!")]) as server:
        endpoints = {"mine": Endpoint(server.url, "MY_ACCESS")}
        model = cast("RemoteModel", resolve_model("mine/m", settings=ModelSettings(endpoints=endpoints)))
        monkeypatch.delenv("MY_ACCESS")
        (reply,) = ask(model)
    assert reply.text == "You sent <secret>!"
    assert blot(f"elsewhere {key}") == "elsewhere <secret>"


def test_credentials_in_headers_and_addresses_are_known_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: buttons-and-jars\nX-Auth: Bearer zq-header-SECRET")
    resolve_model("openai/m", settings=ModelSettings(base_url="http://me:zq-pass%2Fword@127.0.0.1:1"))
    assert blot("zq-header-SECRET zq-pass%2Fword zq-pass/word buttons-and-jars") == (
        "<secret> <secret> <secret> buttons-and-jars"
    )


# ---- what a server may make up ----------------------------------------------------------------------


def test_counts_and_ids_that_cannot_be_are_left_out() -> None:
    step = s.chat()
    step.body["usage"] = {"prompt_tokens": -5, "completion_tokens": True}
    step.body["model"] = {"id": "m"}
    other = s.message(model="m\ud800" + "x" * 900)
    other.body["usage"] |= {"cache_read_input_tokens": "many", "cache_creation_input_tokens": {}}
    with ScriptedServer([step]) as server:
        (reply,) = ask(openai(server.url))
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.returned_model) == (0, 0, "")
    with ScriptedServer([other]) as server:
        (reply,) = ask(anthropic(server.url))
    assert reply.usage.input_tokens == 1000
    assert len(reply.returned_model.encode()) < 300
