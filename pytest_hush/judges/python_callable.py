"""``python:module:attr``: a judge of the user's own, a function or an object with ``judge``."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from pytest_hush.errors import HushError, UnreadableJudgement, UsageError
from pytest_hush.judges.answer import Scores, check_scores
from pytest_hush.loading import load_attribute, own_version, raised
from pytest_hush.model import Judgement, JudgeView
from pytest_hush.protocols import Judge
from pytest_hush.secrets import blot

_TEXTS = ("rubric", "policy")
_CARRIED = ("languages", "screening", "cacheable", "deterministic", "close")


class CallableJudge:
    """Wraps ``callable(view) -> Judgement | mapping`` or an object with such a ``judge``, plain or async.

    Attributes of the target that a judge may carry (``version``, ``rubric``, ``policy``, ``embedded_build``,
    ``languages``, ``screening``, ``cacheable``, ``deterministic``, ``close``) are passed on; ``rubric`` and ``version``
    default to ``""``.
    """

    version = ""
    rubric = ""
    policy = ""

    def __init__(self, target: Any, name: str) -> None:
        self._target = target
        self.name = name
        for attribute in _TEXTS:
            if hasattr(target, attribute):
                setattr(self, attribute, str(getattr(target, attribute) or ""))
        self.version = own_version(target)  # an inherited one says nothing of the code that was added
        if not self.version:
            self.cacheable = False
        for attribute in _CARRIED:
            if getattr(target, attribute, None) is not None:
                setattr(self, attribute, getattr(target, attribute))

    @property
    def embedded_build(self) -> str:
        """The embeddings that the user's judge works with, "" where it names none. May load them."""
        return str(getattr(self._target, "embedded_build", None) or "")

    @property
    def model(self) -> Any:
        """The model that the user's judge asks, if it keeps one. To set another one leaves the user's object alone."""
        if inspect.isroutine(self._target):
            raise AttributeError("model")  # a function asks what it names, whatever its attributes say
        return self._target.model

    @model.setter
    def model(self, other: Any) -> None:
        twin = copy.copy(self._target)
        try:
            object.__setattr__(twin, "model", other)  # also where it is frozen
        except AttributeError:
            raise UsageError(
                f"judge {self.name}: its attribute model cannot be set; the run puts a guard in its place that keeps "
                f"the limits, so it must be a plain attribute."
            ) from None
        self._target = twin

    def judge(self, view: JudgeView) -> Judgement | Awaitable[Judgement]:
        """The callable's judgement, checked. Raises `UnreadableJudgement` when it is none."""
        method = getattr(self._target, "judge", None)
        ask: Callable[[JudgeView], Any] = method if callable(method) else self._target
        try:
            made = ask(view)
        except Exception as error:  # the user's code may raise anything; the run's own kinds keep their meaning
            raise self._failed(error) from error
        if inspect.isawaitable(made):
            return self._later(made, view)
        return self._checked(made, view)

    async def _later(self, made: Awaitable[Any], view: JudgeView) -> Judgement:
        try:
            awaited = await made
        except Exception as error:
            raise self._failed(error) from error
        return self._checked(awaited, view)

    def _failed(self, error: Exception) -> HushError:
        if isinstance(error, HushError):
            return error
        return UnreadableJudgement(f"judge {self.name} raised {raised(error)}")

    def _checked(self, made: object, view: JudgeView) -> Judgement:
        if isinstance(made, Judgement):
            given: Mapping[str, Any] = {name: getattr(made, name) for name in Scores.model_fields}
        elif isinstance(made, Mapping):
            given = made
        else:
            raise UnreadableJudgement(
                f"judge {self.name} returned {type(made).__name__}; expected a Judgement or a mapping with "
                f"{', '.join(Scores.model_fields)}"
            )
        try:
            scores = check_scores(given, view)
        except (ValueError, RecursionError) as error:
            raise UnreadableJudgement(f"judge {self.name}: {blot(str(error))}") from None
        return scores.judgement(self.name, self.rubric)


def load_judge(spec: str) -> Judge:
    """The judge at ``python:module:attr``; a class is called without arguments.

    Raises `UsageError`: the form is wrong, the module cannot be imported, or the attribute is absent or cannot judge.
    """
    return wrap_judge(load_attribute(spec), name=spec)


def wrap_judge(value: Any, *, name: str = "custom") -> Judge:
    """`value` as a judge whose answers are checked: an object with ``judge``, or a function of one `JudgeView`.

    `name` is used where the object has no ``name``. A judge of this package is given back as it is. Raises
    `UsageError` for anything else.
    """
    judges = callable(getattr(value, "judge", None))
    if inspect.isclass(value) or not (judges or callable(value)):
        kind = f"the class {value.__name__}" if inspect.isclass(value) else f"a {type(value).__name__}"
        raise UsageError(
            f"judge {name!r} is {kind}; expected a function of one JudgeView, or an object with a method judge(view)."
        )
    if judges and type(value).__module__.startswith("pytest_hush."):
        return cast("Judge", value)
    own = getattr(value, "name", None)
    return CallableJudge(value, own if isinstance(own, str) and own.strip() else name)
