"""llama.cpp in a process of its own: it can be killed in mid-sentence, and its threads never outlive their code.

Started by `pytest_hush.models.local` with ``python -m``. The first line of its input is the parameters (``path``,
``threads``, ``n_ctx``, ``sys_path``) and is answered when the model is loaded; every further line is one request,
``{"op": "chat", "request": {...}}`` or ``{"op": "tokenize", "text": "..."}``, answered by one: ``{"answer": ...}`` or
``{"failed": kind, "why": text}``. The process ends when its input does, whatever it is computing then.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import secrets
import signal
import sys
import threading
from typing import Any, BinaryIO
from urllib.parse import urlsplit


class _Llama:
    """One loaded model. Deterministic at T = 0: one slot, no prompt cache, one inference at a time."""

    def __init__(self, path: str, threads: int, n_ctx: int) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_ctx = n_ctx
        params.n_parallel = 1
        params.cache_prompt = False
        params.cache_ram_mib = 0
        params.warmup = False
        params.verbosity = -1
        params.ui = False
        params.offline = True
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        # The library always opens a port on the loopback address, and counts tokens only there; a random key keeps
        # it for this process alone.
        self._key = secrets.token_urlsafe(24)
        params.api_keys = [self._key]
        self._server = xllamacpp.Server(params)
        self._address = urlsplit(self._server.listening_address)

    def answer(self, asked: dict[str, Any]) -> Any:
        if asked["op"] == "chat":
            return self._server.handle_chat_completions(asked["request"])
        if asked["op"] == "tokenize":
            return self._count(asked["text"])
        raise ValueError(f"unknown op {asked['op']!r}; expected chat or tokenize")

    def _count(self, text: str) -> int:
        connection = http.client.HTTPConnection(str(self._address.hostname), self._address.port or 80, timeout=60)
        try:
            body = json.dumps({"content": text}).encode()
            head = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
            connection.request("POST", "/tokenize", body, head)
            return len(json.loads(connection.getresponse().read())["tokens"])
        finally:
            connection.close()


def _own_pipe() -> BinaryIO:
    """Standard output as it was given; whatever writes to it or to standard error from now on writes to nowhere."""
    pipe = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return pipe


def _watch(lines: queue.SimpleQueue[bytes]) -> None:
    """Pass the lines of the input on, and end the process with it: the parent closed it, or is no more."""
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)


def _failure(error: Exception) -> dict[str, Any]:
    return {"failed": type(error).__name__, "why": str(error)}


def _tell(pipe: BinaryIO, value: dict[str, Any]) -> None:
    pipe.write(json.dumps(value).encode() + b"\n")
    pipe.flush()


def main() -> None:
    """Serve one parent until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    pipe = _own_pipe()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_watch, args=(lines,), daemon=True).start()
    given = json.loads(lines.get())
    sys.path += [p for p in given.pop("sys_path") if p not in sys.path]
    try:
        llama = _Llama(**given)
    except Exception as error:
        _tell(pipe, _failure(error))
        return
    _tell(pipe, {"answer": "loaded"})
    while True:
        asked = json.loads(lines.get())
        try:
            answer = {"answer": llama.answer(asked)}
        except Exception as error:
            answer = _failure(error)
        _tell(pipe, answer)


if __name__ == "__main__":
    main()
