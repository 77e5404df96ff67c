from __future__ import annotations

from typing import ClassVar

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.model import Condition
from pytest_hush.run import Binding, instrument, subject
from pytest_hush.run.provenance import error_text, keepable, settings

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
    assert keepable(Scripted("openai/x"))
    assert not keepable(Scripted("custom"))
    assert keepable(Scripted("custom", settings={"version": "3"}))
    assert keepable(Recall())
    assert not keepable(Recall(version=""))
    declared = Recall()
    declared.cacheable = False  # type: ignore[attr-defined]
    assert not keepable(declared)


def test_an_error_is_one_line_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "abcdefgh12345")
    monkeypatch.setenv("SHORT_KEY", "a")
    assert error_text(StoreError("the key\nabcdefgh12345 is bad")) == "the key <SOME_SECRET> is bad"
    assert error_text(KeyError("x")) == "KeyError: 'x'"
    assert error_text(ValueError()) == "ValueError"
    assert len(error_text(ValueError("x" * 10_000))) == 600
