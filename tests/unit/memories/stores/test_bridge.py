"""The bridge as a library's own client meets it: over a socket, through the OpenAI SDK."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import openai
import pytest

from pytest_hush.errors import HushError, ModelError, RefusedCallError
from pytest_hush.memories.stores.bridge import Bridge
from pytest_hush.memories.stores.channel import Channel, GivenUp, asking, is_object
from pytest_hush.model import Message, Prompt, Reply, Usage


class Letters:
    name, version = "letters", "1"

    def embed(self, texts):  # type: ignore[no-untyped-def]
        if "boom" in texts:
            raise ModelError("no embedding of boom")
        return np.array([[len(t), t.count("e"), 1.5] for t in texts], dtype=np.float32)


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    found = Bridge(Letters)
    yield found
    found.close()


def client(channel: Channel) -> openai.OpenAI:
    return openai.OpenAI(base_url=channel.url, api_key=channel.token, max_retries=2)


def ask(channel: Channel, **more: Any) -> Any:
    with client(channel) as api:
        return api.chat.completions.create(model="extraction", messages=[{"role": "user", "content": "say it"}], **more)


def saying(text: str, notes: tuple[str, ...] = ()) -> Callable[[Prompt, Mapping[str, Any] | None], Reply]:
    return lambda prompt, schema: Reply(text, usage=Usage(7, 3), notes=notes)


def test_a_question_reaches_the_model_whole_and_its_answer_comes_back(bridge: Bridge) -> None:
    seen: list[tuple[Prompt, Mapping[str, Any] | None]] = []

    def model(prompt: Prompt, schema: Mapping[str, Any] | None) -> Reply:
        seen.append((prompt, schema))
        return Reply("Ünïcode ✓", usage=Usage(7, 3))

    channel = bridge.channel(model)
    with client(channel) as api:
        answer = api.chat.completions.create(
            model="extraction",
            messages=[
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]},
            ],
            max_tokens=77,
            temperature=0.25,
        )
    assert answer.choices[0].message.content == "Ünïcode ✓"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == 10
    prompt = Prompt((Message("system", "be brief"), Message("user", "one two")), max_tokens=77, temperature=0.25)
    assert seen == [(prompt, None)]
    assert (channel.calls, channel.garbled) == (1, 0)


def test_an_answer_that_was_cut_says_so(bridge: Bridge) -> None:
    channel = bridge.channel(saying("half", ("cut at max_tokens",)))
    assert ask(channel).choices[0].finish_reason == "length"


def test_garbage_is_counted_where_json_was_wanted_and_only_there(bridge: Bridge) -> None:
    channel = bridge.channel(saying("Sure! I have noted it."))
    ask(channel)
    assert channel.garbled == 0
    ask(channel, response_format={"type": "json_object"})
    assert channel.garbled == 1
    channel.expects_json = True
    ask(channel)
    assert channel.garbled == 2
    channel.ask = saying('```json\n{"memory": []}\n```')
    ask(channel)
    assert (channel.calls, channel.garbled) == (4, 2)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("{}", True),
        ('<think>{"a": 1</think>{"b": 2}', True),
        ('Here: {"a": "line\nbreak"} done', True),
        ('{"a": [1, 2', False),
        ("[1]", False),
        ("", False),
    ],
)
def test_what_counts_as_an_object(text: str, whole: bool) -> None:
    assert is_object(text) is whole


def test_a_failure_is_kept_sent_once_and_raised_at_the_check(bridge: Bridge) -> None:
    calls = []

    def model(prompt: Prompt, schema: Mapping[str, Any] | None) -> Reply:
        calls.append(prompt)
        raise RefusedCallError("too long for it", status=400)

    channel = bridge.channel(model)
    for _ in range(2):
        with pytest.raises(openai.BadRequestError, match="too long for it"):
            ask(channel)
    assert len(calls) == 1, "neither the library nor the bridge asks a failed model again"
    with pytest.raises(RefusedCallError, match="too long for it"):
        channel.check()
    channel.check()


def test_an_exception_that_is_no_model_error_is_one_all_the_same(bridge: Bridge) -> None:
    def model(prompt: Prompt, schema: Mapping[str, Any] | None) -> Reply:
        raise ZeroDivisionError("of the user's")

    channel = bridge.channel(model)
    with pytest.raises(openai.BadRequestError):
        ask(channel)
    with pytest.raises(ModelError, match="the memory model's code raised ZeroDivisionError: of the user's"):
        channel.check()


@pytest.mark.parametrize("more", [{"stream": True}, {"n": 2}, {"tools": [{"type": "function"}]}])
def test_what_no_model_here_could_answer_is_refused_and_kept(bridge: Bridge, more: dict[str, Any]) -> None:
    channel = bridge.channel(saying("never"))
    with pytest.raises(openai.BadRequestError):
        ask(channel, **more)
    with pytest.raises(ModelError, match="a stream, tools or several answers"):
        channel.check()


def test_a_schema_goes_to_a_model_that_takes_one(bridge: Bridge) -> None:
    schema = {"type": "object", "properties": {"memory": {"type": "array"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "m", "schema": schema}}

    class Bounded:
        def reply(self, prompt: Prompt) -> Reply:
            return Reply("free")

        def reply_json(self, prompt: Prompt, schema: Mapping[str, Any]) -> Reply:
            return Reply('{"bounded": true}' if schema["type"] == "object" else "?")

    class Free:
        def reply(self, prompt: Prompt) -> Reply:
            return Reply('{"free": true}')

    async def through(model: Any) -> str:
        channel = bridge.channel(asking(model, asyncio.get_running_loop(), threading.Event()))
        return str((await asyncio.to_thread(ask, channel, response_format=wanted)).choices[0].message.content)

    assert asyncio.run(through(Bounded())) == '{"bounded": true}'
    assert asyncio.run(through(Free())) == '{"free": true}'


def test_channels_are_apart_and_strangers_are_turned_away(bridge: Bridge) -> None:
    one, other = bridge.channel(saying("one")), bridge.channel(saying("other"))
    assert ask(one).choices[0].message.content == "one"
    assert ask(other).choices[0].message.content == "other"
    assert (one.calls, other.calls) == (1, 1)
    bridge.drop(other)
    with pytest.raises(openai.AuthenticationError):
        ask(other)
    with openai.OpenAI(base_url=one.url, api_key="guess", max_retries=0) as api, pytest.raises(openai.APIStatusError):
        api.models.list()
    assert one.url.startswith("http://127.0.0.1:")


def test_embeddings_as_floats_and_in_base64(bridge: Bridge) -> None:
    channel = bridge.channel(saying(""))
    with client(channel) as api:
        for kind in ("float", "base64"):
            made = api.embeddings.create(model="m", input=["tea", "bees"], encoding_format=kind)  # type: ignore[call-overload]
            rows = [
                d.embedding if kind == "float" else np.frombuffer(base64.b64decode(d.embedding), "<f4").tolist()
                for d in made.data
            ]
            assert rows == [[3.0, 1.0, 1.5], [4.0, 2.0, 1.5]]
        assert api.embeddings.create(model="m", input="tea").data[0].embedding == [3.0, 1.0, 1.5]
        with pytest.raises(openai.BadRequestError, match="no embedding of boom"):
            api.embeddings.create(model="m", input="boom")
    with pytest.raises(HushError, match="no embedding of boom"):
        channel.check()


def test_it_begins_again_after_it_was_closed(bridge: Bridge) -> None:
    first = bridge.channel(saying("one"))
    with client(first).with_options(max_retries=0) as api:
        bridge.close()
        with pytest.raises(openai.APIConnectionError):
            api.models.list()
    assert ask(bridge.channel(saying("two"))).choices[0].message.content == "two"


def test_a_request_is_answered_at_once(bridge: Bridge) -> None:
    """Without TCP_NODELAY each would wait 40 ms for an acknowledgement."""
    channel = bridge.channel(saying("x"))
    with client(channel) as api:
        api.embeddings.create(model="m", input="warm")
        started = time.perf_counter()
        for _ in range(20):
            api.embeddings.create(model="m", input="tea", encoding_format="float")
        assert time.perf_counter() - started < 0.6


def test_a_model_on_a_loop_that_ended_is_not_waited_for() -> None:
    class Slow:
        async def reply(self, prompt: Prompt) -> Reply:
            await asyncio.sleep(60)
            return Reply("late")

    caught: list[BaseException] = []

    async def short() -> threading.Thread:
        ask_it = asking(Slow(), asyncio.get_running_loop(), threading.Event())

        def work() -> None:
            try:
                ask_it(Prompt((Message("user", "?"),)), None)
            except GivenUp as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        await asyncio.sleep(0.1)
        return thread

    thread = asyncio.run(short())
    thread.join(5)
    assert len(caught) == 1
