"""``python:module:attr``: a judge of the user's own, a function or an object with ``judge``."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from pytest_hush.errors import HushError, UnreadableJudgement, UsageError
from pytest_hush.judges.answer import Scores, check_scores
from pytest_hush.loading import load_attribute
from pytest_hush.model import Judgement, JudgeView
from pytest_hush.protocols import Judge

_CARRIED = ("version", "rubric", "policy", "languages", "screening", "close")


class CallableJudge:
    """Wraps ``callable(view) -> Judgement | mapping``, plain or async.

    Attributes of the callable that a judge may carry (``version``, ``rubric``, ``policy``, ``languages``,
    ``screening``, ``close``) are passed on; ``rubric`` and ``version`` default to ``""``.
    """

    version = ""
    rubric = ""
    policy = ""

    def __init__(self, function: Callable[[JudgeView], Any], name: str) -> None:
        self._function = function
        self.name = name
        for attribute in _CARRIED:
            if hasattr(function, attribute):
                setattr(self, attribute, getattr(function, attribute))

    def judge(self, view: JudgeView) -> Judgement | Awaitable[Judgement]:
        """The callable's judgement, checked. Raises `UnreadableJudgement` when it is none."""
        try:
            made = self._function(view)
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
        return UnreadableJudgement(f"judge {self.name} raised {type(error).__name__}: {error}")

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
        except ValueError as error:
            raise UnreadableJudgement(f"judge {self.name}: {error}") from None
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
    if type(value).__module__.startswith("pytest_hush.judges."):
        return cast("Judge", value)
    if isinstance(value, Judge) and not inspect.isclass(value):
        function: Any = value.judge
        wrapped = CallableJudge(function, getattr(value, "name", "") or name)
        for attribute in _CARRIED:
            if hasattr(value, attribute):
                setattr(wrapped, attribute, getattr(value, attribute))
        return wrapped
    if not callable(value) or inspect.isclass(value):
        raise UsageError(
            f"judge {name!r} is a {type(value).__name__}; expected a function of one JudgeView, or an object with a "
            f"method judge(view)."
        )
    return CallableJudge(value, name)
