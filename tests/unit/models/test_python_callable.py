"""``python:module:attr``: every shape that a user's own assistant may have, and every way it may fail."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_hush.errors import HushError, ModelError, UsageError
from pytest_hush.memories.full_context import FullContext
from pytest_hush.model import Message, Prompt, Reply, Usage
from pytest_hush.models import ModelSettings, resolve_model, wrap_model
from pytest_hush.models.parrot import Parrot
from pytest_hush.run.provenance import keepable
from tests.unit.models.clients import KEY

PROMPT = Prompt((Message("system", "Be brief."), Message("user", "Hello?")), max_tokens=12, seed=3)

SOURCE = """
import os
from pytest_hush.model import Reply

def plain(messages):
    return f"{messages[0]['role']} {messages[1]['content']}"

def keywords(messages, *, max_tokens, temperature):
    return f"{max_tokens} {temperature}"

def anything(messages, **options):
    return str(sorted(options.items()))

async def later(messages, max_tokens=5):
    return f"later {max_tokens}"

def hidden(messages):
    return later(messages)

class Whole:
    name = "my assistant"
    version = "7"
    context_window = 9000
    in_flight = 2
    max_tokens = 300
    settings = {"style": "short"}
    closed = False
    def reply(self, prompt):
        return Reply(prompt.messages[-1].content + "!", returned_model="mine-1", notes=("n",))
    def count_tokens(self, text):
        return 42
    def close(self):
        Whole.closed = True

class Later:
    async def reply(self, prompt):
        return prompt.messages[-1].content

class Called:
    async def __call__(self, messages):
        return "called"

class box:
    inner = Later()
    call = Called()

class Needs:
    def __init__(self, thing): ...
    def reply(self, prompt): ...

number = 5

def fails(messages):
    raise KeyError("the key " + os.environ["MY_KEY"] + " and \\ud800" + "x" * 900)

def nothing(messages):
    return None

def blank(messages):
    return "  "

async def fails_later(messages):
    raise OSError("lost " + os.environ["MY_KEY"])

def invisible(messages):
    return " \\u200b\\u2060\\ufeff\\u3164\\U000e0041 "
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[str]:
    name = f"assistant_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    before = list(sys.path)
    yield name
    sys.path[:] = before
    sys.modules.pop(name, None)


def model(module: str, attribute: str, folder: Path, **settings: Any) -> Any:
    return resolve_model(f"python:{module}:{attribute}", settings=ModelSettings(rootdir=str(folder), **settings))


def ask(found: Any) -> Reply:
    """As the run does it: a coroutine function on the loop, anything else in a thread, awaited where need be."""

    async def run() -> Reply:
        if inspect.iscoroutinefunction(found.reply):
            answer = await found.reply(PROMPT)
        else:
            answer = await asyncio.to_thread(found.reply, PROMPT)
            answer = await answer if inspect.isawaitable(answer) else answer
        assert isinstance(answer, Reply)
        return answer

    return asyncio.run(run())


@pytest.mark.parametrize(
    "attribute, text",
    [
        ("plain", "system Hello?"),
        ("keywords", "12 0.5"),
        ("anything", "[('max_tokens', 12), ('seed', 3), ('temperature', 0.5)]"),
        ("later", "later 12"),
        ("hidden", "later 5"),
        ("Whole", "Hello?!"),
        ("Later", "Hello?"),
        ("box.inner", "Hello?"),
        ("box.call", "called"),
    ],
)
def test_shapes(module: str, attribute: str, text: str, tmp_path: Path) -> None:
    found = model(module, attribute, tmp_path, temperature=0.5)
    reply = ask(found)
    assert reply.text == text
    assert reply.usage.cost_usd is None
    assert found.name == f"python:{module}:{attribute}"


def test_attributes_are_passed_on(module: str, tmp_path: Path) -> None:
    found = model(module, "Whole", tmp_path)
    assert (found.context_window, found.in_flight, found.max_tokens) == (9000, 2, 300)
    assert found.count_tokens("x") == 42
    assert found.settings["style"] == "short"
    assert found.settings["version"] == "7"
    found.close()
    assert sys.modules[module].Whole.closed
    assert ask(found).notes == ("n",)
    assert not hasattr(model(module, "plain", tmp_path), "context_window")


def test_an_edit_changes_the_settings(module: str, tmp_path: Path) -> None:
    before = model(module, "plain", tmp_path).settings["source"]
    path = tmp_path / f"{module}.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    assert model(module, "plain", tmp_path).settings["source"] != before
    assert "version" not in model(module, "plain", tmp_path).settings


@pytest.mark.parametrize(
    "attribute, part",
    [
        ("absent", "no attribute 'absent'"),
        ("number", "int: expected a callable"),
        ("Needs", "making Needs\\(\\) failed with TypeError"),
    ],
)
def test_wrong_attributes(module: str, attribute: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=part):
        model(module, attribute, tmp_path)


def test_a_module_that_is_absent_or_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UsageError, match="ModuleNotFoundError: No module named 'absent_module_1'"):
        model("absent_module_1", "x", tmp_path)
    (tmp_path / "broken_module_1.py").write_text("raise RuntimeError('two\\nlines')", encoding="utf-8")
    with pytest.raises(UsageError, match="RuntimeError: two lines") as caught:
        model("broken_module_1", "x", tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "attribute, part",
    [
        ("fails", r"raised KeyError at assistant_\d+\.py:\d+: 'the key <secret> and"),
        ("fails_later", r"raised OSError at assistant_\d+\.py:\d+: lost <secret>\. The case has no score"),
        ("nothing", "returned NoneType"),
        ("blank", "empty text"),
        ("invisible", "empty text"),
    ],
)
def test_failures_are_errors_of_the_case(module: str, attribute: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=part) as caught:
        ask(model(module, attribute, tmp_path))
    assert type(caught.value) is ModelError, "neither retried nor fatal for the model"
    assert "SECRET" not in str(caught.value)
    assert len(str(caught.value)) < 400
    str(caught.value).encode()


@pytest.mark.parametrize(
    "reply, part",
    [
        (Reply(5), "text of type int"),  # type: ignore[arg-type]
        (Reply("a", returned_model=None), "returned_model of type NoneType"),  # type: ignore[arg-type]
        (Reply("a", usage={"input_tokens": 1}), "usage of type dict"),  # type: ignore[arg-type]
        (Reply("a", usage=Usage(-1, 0)), "usage.input_tokens = -1"),
        (Reply("a", usage=Usage(1, 2.5)), "usage.output_tokens = 2.5"),  # type: ignore[arg-type]
        (Reply("a", usage=Usage(1, 1, float("nan"))), "usage.cost_usd = nan"),
        (Reply("a", usage=Usage(1, 1, -0.5)), "usage.cost_usd = -0.5"),
        (Reply("a", latency_s=float("inf")), "latency_s = inf"),
        (Reply("a", latency_s=-1.0), "latency_s = -1.0"),
        (Reply("a", attempts=True), "attempts = True"),
        (Reply("a", notes="one"), "notes that are no tuple"),  # type: ignore[arg-type]
    ],
)
def test_a_reply_that_no_record_could_hold(reply: Reply, part: str) -> None:
    with pytest.raises(ModelError, match=f"returned a Reply with {part}.*no score"):
        ask(wrap_model(lambda messages: reply, name="custom"))


def test_numbers_of_other_libraries_become_plain_ones() -> None:
    given = Reply("a", usage=Usage(np.int64(3), 1, np.float64(0.5)), notes=["n"])  # type: ignore[arg-type]
    reply = ask(wrap_model(lambda messages: given, name="custom"))
    assert [type(x) for x in (reply.usage.input_tokens, reply.usage.cost_usd, reply.notes)] == [int, float, tuple]


def test_a_known_secret_is_taken_out_of_the_answer() -> None:
    given = Reply(f"The key is {KEY}.", returned_model=f"m-{KEY}\ud800", notes=(KEY,))
    reply = ask(wrap_model(lambda messages: given, name="custom"))
    assert (reply.text, reply.returned_model[:10], reply.notes) == ("The key is <secret>.", "m-<secret>", ("<secret>",))
    reply.returned_model.encode()


def test_an_error_of_ours_passes_through() -> None:
    def stops(messages: list[dict[str, str]]) -> str:
        raise UsageError("set MY_KEY")

    with pytest.raises(HushError, match="set MY_KEY"):
        ask(wrap_model(stops, name="custom"))


def test_wrapping_what_a_fixture_gives() -> None:
    parrot = Parrot(1.0, "parrot/1")
    assert wrap_model(parrot, name="parrot/1") is parrot
    assert wrap_model(parrot, name="custom") is parrot
    wrapped = wrap_model(lambda messages: "hi", name="custom")
    assert wrap_model(wrapped, name="other") is wrapped
    assert ask(wrap_model(lambda messages: "hi", name="custom")).returned_model == "custom"
    with pytest.raises(UsageError, match="the class Parrot"):
        wrap_model(Parrot, name="custom")
    for value, kind in (("text", "str"), (5, "int"), (None, "NoneType"), (FullContext(900), "FullContext")):
        with pytest.raises(UsageError, match=f"is a {kind}: expected a callable or an object with a reply"):
            wrap_model(value, name="custom")


def test_a_users_object_keeps_its_name_and_attributes() -> None:
    class Own(Parrot):
        """A class of the user's own, though it derives from one of ours."""

        in_flight, context_window, price_ref = 3, 4096, ("openai", "gpt-4o")

        def close(self) -> None: ...

    found: Any = wrap_model(Own(1.0, "mine/own"), name="spec")
    assert type(found) is not Own
    assert (found.name, found.demonstration, found.in_flight, found.context_window) == ("mine/own", True, 3, 4096)
    assert found.price_ref == ("openai", "gpt-4o")
    assert callable(found.close)
    assert ask(found).text


def test_only_a_version_lets_answers_of_a_users_object_outlive_the_process() -> None:
    class Named:
        name = "vendor/bot"
        settings: Mapping[str, Any] = {"style": "short"}

        def reply(self, prompt: Prompt) -> str:
            return "hi"

    plain, versioned, declared = Named(), Named(), Named()
    versioned.version = "2"  # type: ignore[attr-defined]
    declared.cacheable = True  # type: ignore[attr-defined]
    assert [keepable(wrap_model(m, name="x")) for m in (plain, versioned, declared)] == [False, True, True]

    class Heir(Parrot):
        """Its code is the user's, whatever version the class that it derives from has."""

    heir = Heir(1.0, "mine/heir")
    assert keepable(wrap_model(heir, name="x")) is False
