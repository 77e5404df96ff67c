"""``python:module:attr``: the user's own assistant as a generator, a plain or ``async`` callable."""

from __future__ import annotations

import hashlib
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, cast

from pytest_hush.errors import HushError, ModelError, UsageError
from pytest_hush.loading import is_derived, load_attribute, own_version, raised
from pytest_hush.model import Prompt, Reply, Usage
from pytest_hush.models.settings import DEFAULT_MAX_TOKENS, ModelSettings
from pytest_hush.protocols import Model
from pytest_hush.secrets import blot
from pytest_hush.text import is_blank

_OPTIONAL = ("context_window", "in_flight", "deterministic", "count_tokens", "close", "price_ref")
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
    """A model from an object that a fixture or hook gives; the same rules as for ``python:``.

    A model of this package is given back as it is. Another keeps its own ``name``; `name` is for those without.
    Raises `UsageError` for what cannot be called.
    """
    if inspect.isclass(value):
        raise UsageError(f"Model {name!r} is the class {value.__name__}: give an object of it, or a function.")
    if callable(getattr(value, "reply", None)) and type(value).__module__.startswith("pytest_hush."):
        return cast("Model", value)
    own = getattr(value, "name", None)
    return _wrapped(value, own if isinstance(own, str) and own.strip() else name, settings or ModelSettings())


def _wrapped(target: Any, name: str, settings: ModelSettings) -> Model:
    method = getattr(target, "reply", None)
    takes_prompt = callable(method)
    function = method if takes_prompt else target
    if not callable(function):
        raise UsageError(
            f"Model {name!r} is a {type(target).__name__}: expected a callable or an object with a reply method "
            f"(reply(prompt), or a function of the messages)."
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
        version = own_version(target)
        self.settings: Mapping[str, Any] = {
            "temperature": settings.temperature,
            "source": _source_hash(function),
            **({"version": version} if version else {}),
            **(dict(own) if isinstance(own, Mapping) else {}),
        }
        # Not left to the name: an object of the user's own may bear any, and still be edited without a trace.
        declared = getattr(target, "cacheable", None)
        known = bool(version) or (bool(self.settings.get("version")) and not is_derived(target))
        self.cacheable = known if declared is None else bool(declared)
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
        return ModelError(f"{self.name}: your function raised {raised(error)}. The case has no score.")

    def _checked(self, answer: Any, started: float) -> Reply:
        latency = time.perf_counter() - started
        if isinstance(answer, Reply):
            try:
                reply = _plain(answer)
            except ValueError as error:
                raise ModelError(
                    f"{self.name}: your function returned a Reply with {error}; the case has no score."
                ) from None
        elif isinstance(answer, str):
            reply = Reply(answer, self.name, latency_s=latency)
        else:
            raise ModelError(
                f"{self.name}: your function returned {type(answer).__name__}, expected the text or a Reply."
            )
        if is_blank(reply.text):
            raise ModelError(
                f"{self.name}: your function returned an empty text (no letter or digit); the case has no score."
            )
        # What a provider sent back to the user's code may hold a key, as an answer of a provider of ours may.
        return replace(
            reply,
            text=blot(reply.text),
            returned_model=blot(reply.returned_model),
            notes=tuple(map(blot, reply.notes)),
        )


class _AsyncCallable(_Callable):
    """An ``async`` callable: `reply` is a coroutine function, so the run awaits it on its own loop."""

    async def reply(self, prompt: Prompt) -> Reply:
        started = time.perf_counter()
        return await self._awaited(self._call(prompt), started)


def _plain(reply: Reply) -> Reply:
    """`reply` with plain numbers. Raises ValueError for a field that no record could hold."""
    for field in ("text", "returned_model"):
        value = getattr(reply, field)
        if not isinstance(value, str):
            raise ValueError(f"{field} of type {type(value).__name__}, expected a text")
    usage, notes = reply.usage, reply.notes
    if not isinstance(usage, Usage):
        raise ValueError(f"usage of type {type(usage).__name__}, expected a Usage")
    if not isinstance(notes, (tuple, list)) or not all(isinstance(n, str) for n in notes):
        raise ValueError("notes that are no tuple of texts")
    return replace(
        reply,
        returned_model=reply.returned_model.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        usage=Usage(
            _count("usage.input_tokens", usage.input_tokens),
            _count("usage.output_tokens", usage.output_tokens),
            None if usage.cost_usd is None else _number("usage.cost_usd", usage.cost_usd),
        ),
        latency_s=_number("latency_s", reply.latency_s),
        attempts=_count("attempts", reply.attempts),
        notes=tuple(notes),
    )


def _count(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        raise ValueError(f"{field} = {value!r:.100}, expected a whole number of 0 or more")
    return int(value)


def _number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{field} = {value!r:.100}, expected a finite number of 0 or more")
    return float(value)


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
