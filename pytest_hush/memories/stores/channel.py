"""What stands between one store and the run's extraction model: its calls, its failures, and what could not be read.

A library reaches it over HTTP (`bridge`) or, where it can be given a model of ours, by `Channel.answer`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, Literal, cast

from pytest_hush.errors import HushError, ModelError
from pytest_hush.loading import in_one_line
from pytest_hush.model import Message, Prompt, Reply
from pytest_hush.protocols import Model

MAX_TOKENS: Final = 2000
"""Output tokens where the library names none."""
_THOUGHT: Final = re.compile(r"<think>.*?</think>", re.DOTALL)
_UNAWAITED: Final = "nobody waits for this call of the memory model any more"

Ask = Callable[[Prompt, "Mapping[str, Any] | None"], Reply]
"""A blocking call of a model: the prompt, and the JSON schema that the library asked for."""


class GivenUp(ModelError):
    """Nobody waits for the answer any more: nothing is wrong with the model, and nothing is remembered of it."""


class Channel:
    """One store's way through the bridge, by its own token. Counts what went through; keeps the last failure."""

    def __init__(self, port: Callable[[], int], ask: Ask) -> None:
        """`port` gives the bridge's, and starts it."""
        self._port = port
        self.token = secrets.token_urlsafe(24)
        """The API key to give to the library's client."""
        self.ask = ask
        self.expects_json = False
        """Set by an adapter whose library wants JSON without saying so in the request."""
        self.calls = 0
        self.garbled = 0
        """Answers that were to be JSON objects and are none."""
        self._failure: HushError | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The base URL for the library's client, ending in ``/v1``. The server starts when it is first asked for."""
        return f"http://127.0.0.1:{self._port()}/v1"

    def check(self) -> None:
        """Raise, once, what the model raised since the last check: the library may have passed over it."""
        with self._lock:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The chat completion for a request's body, for a library that can be given a model of ours in this process.

        Raises `HushError` kinds; from then on until `check` as well.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self.calls += 1
        try:
            prompt, wants_json, schema = _read(body)
            reply = self.ask(prompt, schema)
        except HushError as error:
            self.keep(error)
            raise
        except Exception as error:
            failure = ModelError(f"the memory model's code raised {in_one_line(error)}")
            self.keep(failure)
            raise failure from error
        if (wants_json or self.expects_json) and not is_object(reply.text):
            with self._lock:
                self.garbled += 1
        return _completion(body, reply)

    def keep(self, error: HushError) -> None:
        """Remember a failure for `check`; the first one stands."""
        with self._lock:
            self._failure = self._failure or error


def asking(model: Model, loop: asyncio.AbstractEventLoop, given_up: threading.Event) -> Ask:
    """`model` as a blocking call for threads beside `loop`, on which its coroutines run.

    Once `given_up` is set, or `loop` has ended, a call raises `GivenUp` instead of waiting for ever.
    """

    def on_loop(answer: Awaitable[Any]) -> Any:
        async def awaited() -> Any:
            return await answer

        future = asyncio.run_coroutine_threadsafe(awaited(), loop)
        while True:
            try:
                return future.result(timeout=0.5)
            except FutureCancelled:
                raise GivenUp(_UNAWAITED) from None
            except FutureTimeout:
                if future.done():
                    raise  # the model's own
                if given_up.is_set() or not loop.is_running():
                    future.cancel()
                    raise GivenUp(_UNAWAITED) from None

    def ask(prompt: Prompt, schema: Mapping[str, Any] | None) -> Reply:
        if given_up.is_set() or not loop.is_running():
            raise GivenUp(_UNAWAITED)
        bounded = getattr(model, "reply_json", None) if schema is not None else None
        method: Callable[..., Any] = bounded if callable(bounded) else model.reply
        made = method(prompt, schema) if callable(bounded) else method(prompt)
        if inspect.isawaitable(made):
            made = on_loop(made)
        return made if isinstance(made, Reply) else Reply(str(made))

    return ask


def is_object(text: str) -> bool:
    """True when a JSON object can be read from `text`, also out of a code block, prose or after a chain of thought."""
    inner = _THOUGHT.sub("", text)
    start, end = inner.find("{"), inner.rfind("}")
    try:
        return isinstance(json.loads(inner[start : end + 1], strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _read(body: Mapping[str, Any]) -> tuple[Prompt, bool, Mapping[str, Any] | None]:
    """Prompt, whether JSON is wanted, and its schema. Raises `ModelError` for what no `Model` could answer."""
    if body.get("stream") or body.get("tools") or (body.get("n") or 1) != 1:
        raise ModelError("the memory library asked for a stream, tools or several answers, which the bridge has not")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ModelError("the memory library sent a request without messages")
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    schema = wanted["json_schema"].get("schema") if isinstance(wanted, dict) and kind == "json_schema" else None
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    prompt = Prompt(
        tuple(Message(_role(m), _text(m)) for m in messages),
        max_tokens=int(limit) if limit else MAX_TOKENS,
        temperature=float(body.get("temperature") or 0.0),
    )
    return prompt, kind in ("json_object", "json_schema"), schema


def _role(message: Any) -> Literal["system", "user", "assistant"]:
    role = message.get("role") if isinstance(message, dict) else None
    role = "system" if role == "developer" else role
    if role not in ("system", "user", "assistant"):
        raise ModelError(f"the memory library sent a message of the role {role!r}")
    return cast('Literal["system", "user", "assistant"]', role)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _completion(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "id": f"hush-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": str(body.get("model") or ""),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "finish_reason": "length" if "cut at max_tokens" in reply.notes else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }
