"""A real HTTP server on the loopback address that answers from a script, one step a request."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(slots=True)
class Step:
    """One answer: a status with a body, or a deed (`hang`, `cut`)."""

    status: int = 200
    body: Any = ""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    deed: str = ""


@dataclass(slots=True)
class Seen:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Script = Sequence[Step] | Callable[[dict[str, Any]], Step]


class ScriptedServer:
    """``with ScriptedServer(steps) as server``: `server.url`, `server.seen`. The last step repeats."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.seen: list[Seen] = []
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def _stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read() or b"{}")
        self.seen.append(Seen(request.path, {k.lower(): v for k, v in request.headers.items()}, body))
        if callable(self._script):
            step = self._script(body)
        else:
            step = self._script[min(len(self.seen), len(self._script)) - 1]
        if step.deed == "hang":
            await asyncio.sleep(30)
        if step.deed == "cut":
            assert request.transport is not None
            request.transport.abort()
        text = step.body if isinstance(step.body, str) else json.dumps(step.body)
        return web.Response(status=step.status, text=text, content_type=step.content_type, headers=step.headers)


def chat(text: str | None = "Use a jar.", *, reason: str = "stop", model: str = "m-1", **message: Any) -> Step:
    """A chat completion as OpenAI answers it."""
    return Step(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [
                {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text, **message}}
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }
    )


def openai_error(status: int, message: str, **more: Any) -> Step:
    """An error as OpenAI answers it; `headers` apart, `more` goes into the error object."""
    headers = more.pop("headers", {})
    return Step(status, {"error": {"message": message, "type": "x", **more}}, headers=headers)


def message(text: str = "Use a jar.", *, reason: str = "end_turn", model: str = "claude-x") -> Step:
    """A message as Anthropic answers it."""
    return Step(
        body={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 0},
        }
    )


def anthropic_error(status: int, kind: str, text: str, headers: dict[str, str] | None = None) -> Step:
    """An error as Anthropic answers it."""
    return Step(status, {"type": "error", "error": {"type": kind, "message": text}}, headers=headers or {})


HTML = Step(200, "<!DOCTYPE html>\n<html><body>Welcome to the router</body></html>", "text/html")
