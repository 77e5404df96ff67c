"""What the models behind an SDK share: a client for the run's event loop, one request, what a model refuses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from pytest_hush.errors import MissingExtraError, UsageError
from pytest_hush.model import Prompt, Reply, Usage, canonical_json
from pytest_hush.models import faults, prices
from pytest_hush.models.settings import DEFAULT_MAX_TOKENS, ModelSettings, shown_url
from pytest_hush.secrets import blot, register
from pytest_hush.text import is_blank

_NOT_TAKEN = re.compile(r"support|deprecat|permitted|allowed|unknown|unrecogni|unexpected|invalid|not accept|cannot be")
_TOO_LONG = re.compile(r"context|too large|too long|exceed|at most")

_HEADER_VARIABLES = ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS")
_LONGEST_ID = 200
_MOST_TOKENS = 10**9

NO_KEY = "no-key"
"""Sent to servers that want no key: the SDK insists on one."""


class RemoteModel(ABC):
    """A model behind HTTP. SDK retries are off: the run owns the one retry layer.

    The client belongs to the event loop that first calls `reply`; another loop gets a client of its own.
    """

    expected: ClassVar[str]
    """What a body must hold, as error messages say it."""
    droppable: ClassVar[Mapping[str, str]]
    """Request fields that a model may refuse -> the note that replies then carry."""

    def __init__(
        self,
        name: str,
        model: str,
        *,
        base_url: str,
        is_default_url: bool,
        key: str,
        key_env: str | None,
        settings: ModelSettings,
        price_ref: tuple[str, str] | None,
    ) -> None:
        password = urlsplit(base_url).password or ""
        for secret in (key, password, unquote(password), *_header_keys()):
            register(secret)
        self.name = name
        self.max_tokens = settings.max_tokens or DEFAULT_MAX_TOKENS
        self.price_ref = price_ref
        # The address is part of what answers; the default one goes without saying.
        address = {} if is_default_url else {"base_url": shown_url(base_url)}
        self.settings: Mapping[str, Any] = {"temperature": settings.temperature, **address}
        self._model = model
        self._base_url = base_url
        self._temperature = settings.temperature
        self._timeout_s = settings.timeout_s
        self._target = faults.Target(name, shown_url(base_url), key_env, "" if key == NO_KEY else key)
        self._key = key
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dropped: dict[str, str] = {}
        self._answered = False

    @property
    def answers_as(self) -> tuple[object, ...]:
        """What two names of one model at one address have in common; never shown, it holds the key."""
        return (type(self).__name__, self._base_url, self._model, self._key, canonical_json(self.settings))

    @abstractmethod
    def _new_client(self) -> Any:
        """The SDK's asynchronous client, without retries."""

    @abstractmethod
    def _request(self, prompt: Prompt, temperature: float) -> dict[str, Any]:
        """The body's fields before any is dropped."""

    @abstractmethod
    async def _send(self, client: Any, request: dict[str, Any]) -> str:
        """Send, and return the body of a 200. Raises what the SDK raises."""

    @abstractmethod
    def _read(self, body: dict[str, Any], started: float, attempts: int) -> Reply | None:
        """The reply in `body`; None where it holds none of the expected shape."""

    async def reply(self, prompt: Prompt) -> Reply:
        """One answer. A field that the model refuses by name is left out from then on, and every reply says so."""
        client = self._client_here()
        request = self._request(prompt, self._temperature or prompt.temperature)
        dropped = dict(self._dropped)
        for attempts in range(1, len(self.droppable) + 2):
            sent = _without(request, dropped)
            started = time.perf_counter()
            try:
                async with asyncio.timeout(self._timeout_s):
                    body = await self._send(client, sent)
            except TimeoutError:
                raise faults.from_timeout(self._target, self._timeout_s, attempts=attempts) from None
            except self._sdk_errors() as error:
                # `from None`: the SDK's text may quote the key, and a traceback would show it.
                refused = self._refused(error, sent)
                if refused:
                    dropped[refused] = self.droppable[refused]
                    continue
                raise self._translated(error, attempts) from None
            # Only a request that went through proves that the field was what the server minded.
            self._dropped |= dropped
            return self._answer(body, started, attempts)
        raise AssertionError("each field is dropped once")

    async def close(self) -> None:
        """Close the client, on the loop that used it."""
        client, self._client, self._loop = self._client, None, None
        if client is not None:
            await client.close()

    @abstractmethod
    def _sdk_errors(self) -> tuple[type[Exception], ...]: ...

    def _client_here(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self._new_client(), loop
        return self._client

    def _refused(self, error: Exception, sent: Mapping[str, Any]) -> str | None:
        """The field of `sent` that the server says it does not take; None where it minds something else."""
        if getattr(error, "status_code", None) not in (400, 422):
            return None
        said = faults.error_text(_body_of(error)).lower()
        named = str(getattr(error, "param", None) or "")
        if not _NOT_TAKEN.search(said) or _TOO_LONG.search(said):
            return None
        return next((f for f in self.droppable if f in sent and (named == f if named else f in said)), None)

    def _translated(self, error: Exception, attempts: int) -> Exception:
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and status >= 400:
            headers = getattr(getattr(error, "response", None), "headers", {})
            return faults.from_status(self._target, status, _body_of(error), headers, attempts=attempts)
        if "Timeout" in type(error).__name__:
            return faults.from_timeout(self._target, self._timeout_s, attempts=attempts)
        return faults.from_connection(self._target, error, answered=self._answered, attempts=attempts)

    def _answer(self, text: str, started: float, attempts: int) -> Reply:
        body = faults.read_json(text)
        fault = body.get("error") if isinstance(body, dict) else None
        code = fault.get("code") if isinstance(fault, dict) else None
        if isinstance(code, int) and 400 <= code <= 999:
            # Some gateways wrap the error of the provider behind them in a 200.
            raise faults.from_status(self._target, code, text, {}, attempts=attempts)
        reply = self._read(body, started, attempts) if isinstance(body, dict) else None
        if reply is None:
            raise faults.from_body(
                self._target, text, answered=self._answered, expected=self.expected, attempts=attempts
            )
        self._answered = True
        return reply

    def _made(
        self, text: str, reason: str, returned: object, counts: tuple[object, object], started: float, attempts: int
    ) -> Reply:
        """A reply with its price and notes, and without any known secret that the server sent back.

        Raises `RefusedCallError` for a text without a letter or digit, whatever the reason.
        """
        if is_blank(text):
            self._answered = True
            raise faults.empty_text(self._target, reason, attempts=attempts)
        usage = Usage(*map(count_of, counts))
        cost = prices.price(self, usage)
        notes = list(self._dropped.values())
        if reason in ("length", "max_tokens"):
            notes.append("cut at max_tokens")
        if text.lstrip().startswith("<think>"):
            notes.append("the text begins with the model's thinking: the server does not keep it apart")
        clean = blot(text)
        if clean != text:
            notes.append("the server sent a secret back: it was taken out of the reply")
        return Reply(
            text=clean,
            returned_model=self._target.shown(returned)[:_LONGEST_ID] if isinstance(returned, str) else "",
            usage=Usage(usage.input_tokens, usage.output_tokens, cost if usage.input_tokens else None),
            latency_s=time.perf_counter() - started,
            attempts=attempts,
            notes=tuple(map(blot, notes)),
        )


def count_of(value: object) -> int:
    """A number of tokens as a server gives it; 0 for what cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS else 0


def _without(request: Mapping[str, Any], dropped: Mapping[str, str]) -> dict[str, Any]:
    kept = {k: v for k, v in request.items() if k not in dropped}
    if "max_tokens" in request and "max_tokens" in dropped:
        kept["max_completion_tokens"] = request["max_tokens"]
    return kept


def key_from(variable: str, what: str) -> str:
    """The key in an environment variable. Raises `UsageError` that names the variable, never its value."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"{what} needs a key: set the environment variable {variable}.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{what}: the value of {variable} cannot be a key (it has blanks or characters beyond ASCII).")
    return key


def _header_keys() -> list[str]:
    """The credentials among the headers that the environment makes the SDKs send."""
    lines = [x for v in _HEADER_VARIABLES for x in os.environ.get(v, "").splitlines()]
    pairs = [(name.strip().lower(), value.split()) for name, _, value in (line.partition(":") for line in lines)]
    return [value[-1] for name, value in pairs if value and re.search("auth|key|token|secret", name)]


_DRY: Final[ContextVar[bool]] = ContextVar("hush_dry_run", default=False)


@contextlib.contextmanager
def dry_run() -> Iterator[None]:
    """Within it models are made that are never asked: their names and prices are known without an SDK."""
    token = _DRY.set(True)
    try:
        yield
    finally:
        _DRY.reset(token)


def require_sdk(module: str) -> None:
    """Raises `MissingExtraError` with the install line where the SDK is absent, but in a `dry_run`; imports nothing."""
    import importlib.util

    if not _DRY.get() and importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"The {module} SDK is not installed. Run: pip install 'pytest-hush[{module}]'")


def _body_of(error: Exception) -> str:
    response = getattr(error, "response", None)
    try:
        return str(response.text) if response is not None else str(error)
    except Exception:  # a body that was never read: httpx has its own error for it
        return str(error)
