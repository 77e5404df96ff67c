"""A server on 127.0.0.1 that speaks OpenAI's protocol and answers through a `Model` of the run.

Memory libraries bring clients of their own. Through this one door every model can extract memories, under the run's
limits, retries and cost cap, and a failure is kept even where the library swallows it. A client of the library should
be told to heed no proxy of the environment, and to retry nothing.
"""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from pytest_hush.errors import HushError, ModelError
from pytest_hush.loading import in_one_line
from pytest_hush.memories.stores.channel import Ask, Channel
from pytest_hush.protocols import Embedder

_LONGEST_BODY: Final = 32 * 1024 * 1024


class Bridge:
    """The channels and the server behind them, which starts with the first `Channel.url`; `close` ends both."""

    def __init__(self, embedder: Callable[[], Embedder] | None = None) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._channels: dict[str, Channel] = {}

    def channel(self, ask: Ask) -> Channel:
        """A new endpoint whose questions `ask` answers."""
        with self._lock:
            channel = Channel(self.port, ask)
            self._channels[channel.token] = channel
        return channel

    def port(self) -> int:
        with self._lock:
            if self._server is None:
                self._server = _serve(self)
            return int(self._server.server_address[1])

    def drop(self, channel: Channel) -> None:
        """Answer no other request of this channel."""
        with self._lock:
            self._channels.pop(channel.token, None)

    def close(self) -> None:
        with self._lock:
            server, self._server = self._server, None
            self._channels.clear()
        if server is not None:
            server.shutdown()
            server.server_close()

    def find(self, authorization: str) -> Channel | None:
        """The channel whose token stands in an ``Authorization`` header."""
        given = authorization.removeprefix("Bearer ").encode()
        with self._lock:
            known = list(self._channels.values())
        return next((c for c in known if hmac.compare_digest(c.token.encode(), given)), None)

    def embeddings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to ``/v1/embeddings``, as floats or in base64. Raises `ModelError` on what is no list of texts."""
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if self._embedder is None or not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
            raise ModelError("the bridge was asked for embeddings of what is no list of texts, or has no embedder")
        rows = self._embedder().embed(texts)
        packed = body.get("encoding_format") == "base64"
        values = [base64.b64encode(row.astype("<f4").tobytes()).decode() if packed else row.tolist() for row in rows]
        return {
            "object": "list",
            "model": str(body.get("model") or ""),
            "data": [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(values)],
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
        }


def _serve(bridge: Bridge) -> ThreadingHTTPServer:
    class Handler(_Handler):
        owner = bridge

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="hush-bridge", daemon=True
    ).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    owner: Bridge
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        channel = self.owner.find(self.headers.get("Authorization") or "")
        if channel is None or not 0 < length <= _LONGEST_BODY:
            self.close_connection = True  # the body was not read
            self._send(401 if channel is None else 413, _fault("no such channel, or a body of an impossible size"))
            return
        try:
            body = json.loads(self.rfile.read(length))
            if self.path == "/v1/chat/completions":
                self._send(200, channel.answer(body))
            elif self.path == "/v1/embeddings":
                self._send(200, self._embedded(channel, body))
            else:
                self._send(404, _fault(f"the bridge has no {self.path}"))
        except HushError as error:
            self._send(400, _fault(str(error)))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            self._send(400, _fault(f"the bridge cannot read this request: {in_one_line(error)}"))

    def _embedded(self, channel: Channel, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.owner.embeddings(body)
        except HushError as error:
            channel.keep(error)
            raise

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            # The run retries; a library that did so as well would multiply every wait.
            self.send_header("x-should-retry", "false")
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the library stopped waiting

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: standard error is the run's."""


def _fault(text: str) -> dict[str, Any]:
    return {"error": {"message": text, "type": "memory_bridge", "code": None}}
