from __future__ import annotations

from typing import ClassVar

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.model import Condition
from pytest_hush.run import Binding, instrument, subject
from pytest_hush.run.provenance import keepable, settings
from pytest_hush.run.wording import error_text

from ..factories import make_pack
from .standins import Recall, Scripted, StemJudge

PACK = make_pack(1, 1)


def test_several_judges_are_one_instrument() -> None:
    second = StemJudge()
    second.name, second.version = "openai/gpt-4o", "2"
    found = instrument(Binding({}, {}, (StemJudge(), second)), PACK)
    assert (found["judge"], found["judge_version"], found["rubric"]) == ("stems+openai/gpt-4o", "1+2", "test@1")


@pytest.mark.parametrize(
    ("name", "shown"), [("parrot/0.5", True), ("local", True), ("recorded", True), ("openai/x", False)]
)
def test_demonstration_models_say_so(name: str, shown: bool) -> None:
    binding = Binding({name: Scripted(name)}, {"recall": Recall()}, (StemJudge(),))
    assert subject(binding, name, Condition.parse("recall"))["demonstration"] is shown
    model = Scripted(name)
    model.demonstration = True  # type: ignore[attr-defined]
    binding = Binding({name: model}, {"recall": Recall()}, (StemJudge(),))
    assert subject(binding, name, Condition.parse("recall"))["demonstration"] is True


def test_a_memory_of_one_model_only() -> None:
    binding = Binding({}, {"full": Recall("a")}, (), per_model={("small", "full"): Recall("b")})
    assert subject(binding, "small", Condition.parse("full"))["memory"] == "b"
    assert subject(binding, "large", Condition.parse("full"))["memory"] == "a"


def test_settings_are_plain_json() -> None:
    class Odd:
        settings: ClassVar[dict[object, object]] = {"path": PACK, 1: (2, 3)}

    assert settings(Odd())["1"] == [2, 3]
    assert isinstance(settings(Odd())["path"], str)
    assert settings(object()) == {}


def test_what_may_outlive_the_process() -> None:
    assert not keepable(Scripted("openai/x", version=""))
    assert keepable(Scripted("openai/x", version="3"))
    assert keepable(Scripted("openai/x", version="", settings={"version": "3"}))
    assert keepable(Recall())
    assert not keepable(Recall(version=""))
    declared = Recall()
    declared.cacheable = False  # type: ignore[attr-defined]
    assert not keepable(declared)


def test_an_error_is_one_line_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "abcdefgh12345")
    monkeypatch.setenv("SHORT_KEY", "a")
    assert error_text(StoreError("the key\nabcdefgh12345 is bad")) == "the key <secret> is bad"
    assert error_text(KeyError("x")) == "KeyError: 'x'"
    assert error_text(ValueError()) == "ValueError"
    assert len(error_text(ValueError("x" * 10_000))) == 600


def test_code_of_this_package_is_as_old_as_its_version_and_wrapped_code_is_not() -> None:
    from pytest_hush.judges.llm import LLMJudge
    from pytest_hush.memories.callable import wrap_memory
    from pytest_hush.memories.full_context import FullContext
    from pytest_hush.models.parrot import Parrot
    from pytest_hush.models.python_callable import wrap_model
    from pytest_hush.models.settings import ModelSettings

    class Heir(FullContext):
        """The inherited version says nothing of what is added here."""

    class Versioned(Heir):
        version = "mine"  # type: ignore[misc]

    assert keepable(FullContext())
    assert not keepable(Heir())
    assert keepable(Versioned())
    assert keepable(Parrot.create("0.5", ModelSettings()))
    function = wrap_model(lambda messages: "hi", name="any/name")
    assert not keepable(function)
    assert not keepable(wrap_memory(lambda sessions, question: [], name="mem0"))
    assert not keepable(LLMJudge(function, "python:mine"))  # a judge of ours around a model of the user's
    assert keepable(LLMJudge(Scripted(), "openai/x"))


def test_records_of_code_whose_edits_go_unnoticed_say_so() -> None:
    recall = Condition.parse("recall")
    for judge_version, kept in (("1", True), ("", False)):
        judge = StemJudge()
        judge.version = judge_version
        about = subject(Binding({"m": Scripted()}, {"recall": Recall()}, (judge,)), "m", recall)
        assert about.get("reusable", True) is kept


def test_settings_hold_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_ACCESS_TOKEN", "tk-0123456789")

    class Mine:
        settings: ClassVar[dict[str, object]] = {
            "api_key": "sk-1",
            "max_tokens": 64,
            "url": "https://me:pw@example.org:8080/v1?sig=abc#x",
            "nested": [{"Authorization": ["Bearer abc"]}, "uses tk-0123456789"],
            "odd": float("nan"),
            "broken": "http://[me:pw@",
        }

    assert settings(Mine()) == {
        "api_key": "<secret>",
        "max_tokens": 64,
        "url": "https://example.org:8080/v1",
        "nested": [{"Authorization": "<secret>"}, "uses <secret>"],
        "odd": "nan",
        "broken": "<secret>",
    }


def test_an_error_is_unicode_whatever_was_raised() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert error_text(ValueError("half \ud83d a pair")) == "ValueError: half \ufffd a pair"
    assert error_text(Mute()) == "Mute: <its text raised RuntimeError>"


def test_a_registered_secret_is_blotted() -> None:
    from pytest_hush import secrets

    secrets.register("value of hush_endpoints")
    secrets.register("short")
    assert error_text(StoreError("a value of hush_endpoints\nand short")) == "a <secret> and short"
