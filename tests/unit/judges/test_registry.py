from __future__ import annotations

import asyncio
import copy
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import TransientError, UnreadableJudgement, UsageError
from pytest_hush.judges import resolve_judge
from pytest_hush.judges.embedded import EmbeddedJudge
from pytest_hush.judges.llm import LLMJudge
from pytest_hush.judges.policy import load_policy
from pytest_hush.judges.python_callable import wrap_judge
from pytest_hush.judges.rubric import load_rubric
from pytest_hush.model import Judgement, JudgeView, Prompt, Reply
from pytest_hush.protocols import Embedder, Judge, Model
from pytest_hush.run.provenance import keepable
from tests.unit.judges.scenes import view

SOURCE = """
import os
from pytest_hush.errors import TransientError
from pytest_hush.model import Judgement

def mapping(view):
    return {"v": 0.5, "target_uptake": 0, "over_scope": 0.5, "helpfulness": "1", "evidence": "Try an omelette"}
mapping.rubric = "mine@1"
mapping.version = "7"

async def later(view):
    return Judgement("ignored", "", 0.0, 0.0, 0.0, 1.0)

def number(view):
    return 0.5

def out_of_range(view):
    return {"v": 2, "target_uptake": 0, "over_scope": 0, "helpfulness": 0}

def raises(view):
    raise KeyError("score " + os.environ["MY_SECRET"] + " \\ud800" + "x" * 900)

def lost(view):
    raise TransientError("503", status=503)

class Mine:
    name = "mine"
    languages = frozenset({"en", "pt"})
    def judge(self, view):
        return {"v": 0, "target_uptake": 0, "over_scope": 0, "helpfulness": 1}

constant = 3
"""


class Generator:
    name = "x/y"

    def reply(self, prompt: Prompt) -> Reply:
        return Reply("")


def no_embedder() -> Embedder:
    raise AssertionError("the embedder was asked for")


def no_model(spec: str) -> Model:
    raise AssertionError(f"the model {spec} was asked for")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"hush_judge_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return name


def resolve(spec: str) -> Judge:
    return resolve_judge(spec, embedder=no_embedder, model_resolver=no_model)


VIEW = view("miscarriage", "Try an omelette.")


def test_embedded_is_made_without_its_embeddings() -> None:
    judge = resolve("embedded")
    assert isinstance(judge, Judge)
    assert (judge.name, judge.screening, judge.rubric) == ("embedded", True, load_rubric().id)  # type: ignore[attr-defined]


def test_a_model_judges_by_the_rubric() -> None:
    judge = resolve_judge("openai/gpt-4o", embedder=no_embedder, model_resolver=lambda spec: Generator())
    assert (judge.name, judge.policy) == ("openai/gpt-4o", load_policy().id)  # type: ignore[attr-defined]


def test_the_model_resolvers_error_passes_through() -> None:
    def unknown(spec: str) -> Model:
        raise UsageError(f"no provider in {spec}")

    with pytest.raises(UsageError, match="no provider in nobody/x"):
        resolve_judge("nobody/x", embedder=no_embedder, model_resolver=unknown)


@pytest.mark.parametrize("spec", ["", "embeded", "python", "python:", "python:a", "python:a:b:c", "/abs"])
def test_unknown_names_are_usage_errors(spec: str) -> None:
    with pytest.raises(UsageError, match="python:module:attr"):
        resolve(spec)


def test_mapping_of_a_function(module: str) -> None:
    judge = resolve(f"python:{module}:mapping")
    made = judge.judge(VIEW)
    assert isinstance(made, Judgement)
    assert (made.judge, made.rubric, made.v, made.helpfulness) == (f"python:{module}:mapping", "mine@1", 0.5, 1.0)
    assert judge.version == "7"  # type: ignore[attr-defined]


def test_async_function_and_object(module: str) -> None:
    made: Judgement = asyncio.run(resolve(f"python:{module}:later").judge(VIEW))  # type: ignore[arg-type]
    assert (made.judge, made.helpfulness) == (f"python:{module}:later", 1.0)
    judge = resolve(f"python:{module}:Mine")
    assert (judge.name, judge.languages) == ("mine", {"en", "pt"})  # type: ignore[attr-defined]
    assert judge.judge(VIEW).v == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("attr", "why"),
    [
        ("number", "returned float"),
        ("out_of_range", "'v'"),
        ("raises", r"raised KeyError at hush_judge_\w+\.py:\d+: 'score <secret> "),
    ],
)
def test_what_is_no_judgement_is_unscored(module: str, attr: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "zq-mine-SECRET")
    with pytest.raises(UnreadableJudgement, match=why) as caught:
        resolve(f"python:{module}:{attr}").judge(VIEW)
    assert len(str(caught.value)) < 400
    str(caught.value).encode()


class Asking:
    """A judge of a user's own that asks a model."""

    name, version, rubric, policy, screening = "asking", "4", "mine@2", "lenient", True
    languages = frozenset({"pt"})

    def __init__(self, model: Generator) -> None:
        self.model = model

    def judge(self, view: JudgeView) -> dict[str, object]:
        said = self.model.reply(Prompt(())).text
        return {"v": 0, "target_uptake": 0, "over_scope": 0, "helpfulness": 1, "rationale": said}


def test_a_users_judge_keeps_its_attributes_and_its_model_may_be_guarded() -> None:
    own = Asking(Generator())
    judge: Any = wrap_judge(own, name="spec")
    assert (judge.name, judge.version, judge.rubric, judge.policy) == ("asking", "4", "mine@2", "lenient")
    assert (judge.screening, judge.languages, judge.model) == (True, {"pt"}, own.model)

    class Guarded(Generator):
        def reply(self, prompt: Prompt) -> Reply:
            return Reply("guarded")

    twin = copy.copy(judge)
    object.__setattr__(twin, "model", Guarded())  # as the run does it
    assert [j.judge(VIEW).rationale for j in (twin, judge)] == ["guarded", ""]
    assert type(own.model) is Generator
    assert not hasattr(wrap_judge(lambda view: None), "model")


def test_only_a_version_lets_judgements_outlive_the_process() -> None:
    class Own:
        version: str | None = "3"

        def judge(self, view: JudgeView) -> None: ...

    class Heir(EmbeddedJudge):
        """Its code is the user's, whatever version the class that it derives from has."""

    own = Own()
    assert keepable(wrap_judge(own)) is True
    for nothing in ("", None):
        own.version = nothing
        judge: Any = wrap_judge(own)
        assert (judge.version, keepable(judge)) == ("", False)
    heir: Any = wrap_judge(Heir(no_embedder))
    assert (heir.version, keepable(heir)) == ("", False)  # an inherited version says nothing of the code added


def test_what_is_no_judge_is_refused_and_ours_are_given_back() -> None:
    for value, kind in ((5, "a int"), (None, "a NoneType"), ("text", "a str"), (Asking, "the class Asking")):
        with pytest.raises(UsageError, match=f"judge 'spec' is {kind}; expected a function of one JudgeView"):
            wrap_judge(value, name="spec")
    ours = LLMJudge(Generator(), "x/y")
    assert wrap_judge(ours, name="spec") is ours
    assert wrap_judge(wrap_judge(Asking(Generator()))).name == "asking"  # type: ignore[attr-defined]


def test_the_runs_own_errors_keep_their_meaning(module: str) -> None:
    with pytest.raises(TransientError):
        resolve(f"python:{module}:lost").judge(VIEW)


@pytest.mark.parametrize(("tail", "why"), [("nothing", "no attribute"), ("constant", "is a int")])
def test_wrong_attributes(module: str, tail: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        resolve(f"python:{module}:{tail}")


def test_missing_module_is_named() -> None:
    with pytest.raises(UsageError, match="no_such_module_here"):
        resolve("python:no_such_module_here:judge")


def test_rubric_is_hashed_and_unknown_ones_are_named() -> None:
    rubric = load_rubric()
    assert rubric.id.startswith("conservative-1@")
    assert len(rubric.id.split("@")[1]) == 12
    assert all(name in rubric.text for name in ("target_uptake", "over_scope", "helpfulness", "0.25"))
    with pytest.raises(UsageError, match="conservative-1"):
        load_rubric("lenient-9")


def test_the_guides_own_judge_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Path(__file__).parents[3] / "docs" / "guide" / "judges.md"
    code = guide.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "hush_guide_judge.py").write_text(code, encoding="utf-8")
    judge = resolve("python:hush_guide_judge:judge")
    silent, named = judge.judge(VIEW), judge.judge(view("miscarriage", "At Haldevin they said so."))
    assert isinstance(silent, Judgement)
    assert isinstance(named, Judgement)
    assert (silent.v, named.v, named.used, judge.version) == (0.0, 1.0, ("target",), "1")  # type: ignore[attr-defined]
