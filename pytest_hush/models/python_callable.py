"""``python:module:attr``: the user's own assistant as a generator, a plain or ``async`` callable."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from pytest_hush.errors import HushError, ModelError, UsageError
from pytest_hush.loading import load_attribute
from pytest_hush.model import Prompt, Reply
from pytest_hush.models.settings import DEFAULT_MAX_TOKENS, ModelSettings
from pytest_hush.protocols import Model

_OPTIONAL = ("context_window", "in_flight", "deterministic", "count_tokens", "close", "cacheable", "price_ref")
_PASSED = ("max_tokens", "temperature", "seed")


def resolve_callable(spec: str, settings: ModelSettings) -> Model:
    """A model from a function, a callable object, or an object (or a class without arguments) with ``reply``.

    A callable gets ``messages``, a list of ``{"role", "content"}``, and those of `max_tokens`, `temperature` and
    `seed` that its signature takes; it returns the text or a `Reply`. A ``reply`` method gets the `Prompt`.
    Attributes of the object that `Model` names are passed on; a ``version`` lets its answers be cached between runs.
    An exception of the user's code is a `ModelError` of that case: an infrastructure failure, never a score.
    """
    return _wrapped(load_attribute(spec, settings.rootdir), spec, settings)


def wrap_model(value: Any, *, name: str, settings: ModelSettings | None = None) -> Model:
    """A model under `name` from an object that a fixture or hook gives; the same rules as for ``python:``.

    A model that already has that name is given back as it is. Raises `UsageError` for what cannot be called.
    """
    if callable(getattr(value, "reply", None)) and getattr(value, "name", None) == name and not inspect.isclass(value):
        return cast("Model", value)
    if inspect.isclass(value):
        raise UsageError(f"Model {name!r} is the class {value.__name__}: give an object of it, or a function.")
    return _wrapped(value, name, settings or ModelSettings())


def _wrapped(target: Any, name: str, settings: ModelSettings) -> Model:
    method = getattr(target, "reply", None)
    takes_prompt = callable(method)
    function = method if takes_prompt else target
    if not callable(function):
        raise UsageError(
            f"Model {name!r} is a {type(target).__name__}: expected a callable or an object with a reply method."
        )
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    kind = _AsyncCallable if is_async else _Callable
    return kind(name, target, cast("Callable[..., Any]", function), takes_prompt, settings)


class _Callable:
    """A plain callable. Where it returns an awaitable after all, `reply` gives one, as the protocol allows."""

    def __init__(
        self, spec: str, target: Any, function: Callable[..., Any], takes_prompt: bool, settings: ModelSettings
    ) -> None:
        self.name = spec
        self.demonstration = bool(getattr(target, "demonstration", False))
        self.max_tokens = int(settings.max_tokens or getattr(target, "max_tokens", None) or DEFAULT_MAX_TOKENS)
        own = getattr(target, "settings", None)
        # A declared version lets answers be kept between runs; the hash of one file could miss an edit elsewhere.
        version = getattr(target, "version", None)
        self.settings: Mapping[str, Any] = {
            "temperature": settings.temperature,
            "source": _source_hash(function),
            **({"version": str(version)} if version else {}),
            **(dict(own) if isinstance(own, Mapping) else {}),
        }
        for attribute in _OPTIONAL:
            if hasattr(target, attribute):
                setattr(self, attribute, getattr(target, attribute))
        self._function = function
        self._takes_prompt = takes_prompt
        self._temperature = settings.temperature
        self._keywords = () if takes_prompt else _accepted(function)

    def reply(self, prompt: Prompt) -> Reply | Awaitable[Reply]:
        started = time.perf_counter()
        try:
            answer = self._call(prompt)
        except HushError:
            raise
        except Exception as error:
            raise self._failed(error) from error
        if inspect.isawaitable(answer):
            return self._awaited(answer, started)
        return self._checked(answer, started)

    def _call(self, prompt: Prompt) -> Any:
        if self._takes_prompt:
            return self._function(prompt)
        values = {
            "max_tokens": prompt.max_tokens,
            "temperature": self._temperature or prompt.temperature,
            "seed": prompt.seed,
        }
        messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
        return self._function(messages, **{name: values[name] for name in self._keywords})

    async def _awaited(self, answer: Awaitable[Any], started: float) -> Reply:
        try:
            return self._checked(await answer, started)
        except HushError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ModelError:
        # Only the exception's kind is told: its text is the user's and may hold a key or a person's words.
        where = ""
        with contextlib.suppress(Exception):
            frame = inspect.getinnerframes(error.__traceback__)[-1] if error.__traceback__ else None
            where = f" at {Path(frame.filename).name}:{frame.lineno}" if frame else ""
        return ModelError(f"{self.name}: your function raised {type(error).__name__}{where}; the case has no score.")

    def _checked(self, answer: Any, started: float) -> Reply:
        latency = time.perf_counter() - started
        if isinstance(answer, Reply):
            text = answer.text
        elif isinstance(answer, str):
            text, answer = answer, Reply(answer, self.name, latency_s=latency)
        else:
            raise ModelError(
                f"{self.name}: your function returned {type(answer).__name__}, expected the text or a Reply."
            )
        if not text.strip():
            raise ModelError(f"{self.name}: your function returned an empty text; the case has no score.")
        return cast("Reply", answer)


class _AsyncCallable(_Callable):
    """An ``async`` callable: `reply` is a coroutine function, so the run awaits it on its own loop."""

    async def reply(self, prompt: Prompt) -> Reply:
        started = time.perf_counter()
        return await self._awaited(self._call(prompt), started)


def _accepted(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return _PASSED
    named = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return tuple(name for name in _PASSED if name in named)


def _source_hash(function: Callable[..., Any]) -> str:
    """A digest of the file that defines the function: records then say that the code under test has changed."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else ""
    except (OSError, TypeError):
        return ""
