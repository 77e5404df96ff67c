"""``python:module:attr``: every shape that a user's own assistant may have, and every way it may fail."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import HushError, ModelError, UsageError
from pytest_hush.model import Message, Prompt, Reply
from pytest_hush.models import ModelSettings, resolve_model, wrap_model
from pytest_hush.models.parrot import Parrot

PROMPT = Prompt((Message("system", "Be brief."), Message("user", "Hello?")), max_tokens=12, seed=3)

SOURCE = """
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
    raise KeyError("sk-SECRET and a person's words")

def nothing(messages):
    return None

def blank(messages):
    return "  "

async def fails_later(messages):
    raise OSError("sk-SECRET")
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
        ("fails", "raised KeyError at assistant_"),
        ("fails_later", "raised OSError"),
        ("nothing", "returned NoneType"),
        ("blank", "empty text"),
    ],
)
def test_failures_are_errors_of_the_case(module: str, attribute: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=part) as caught:
        ask(model(module, attribute, tmp_path))
    assert type(caught.value) is ModelError, "neither retried nor fatal for the model"
    assert "SECRET" not in str(caught.value)


def test_an_error_of_ours_passes_through() -> None:
    def stops(messages: list[dict[str, str]]) -> str:
        raise UsageError("set MY_KEY")

    with pytest.raises(HushError, match="set MY_KEY"):
        ask(wrap_model(stops, name="custom"))


def test_wrapping_what_a_fixture_gives() -> None:
    parrot = Parrot(1.0, "parrot/1")
    assert wrap_model(parrot, name="parrot/1") is parrot
    custom: Any = wrap_model(parrot, name="custom")
    assert (custom.name, custom.demonstration) == ("custom", True)
    assert ask(custom).text == parrot.reply(PROMPT).text
    assert ask(wrap_model(lambda messages: "hi", name="custom")).returned_model == "custom"
    with pytest.raises(UsageError, match="the class Parrot"):
        wrap_model(Parrot, name="custom")
    with pytest.raises(UsageError, match="a str"):
        wrap_model("text", name="custom")
