"""A small real language model beside this process (llama.cpp by ``xllamacpp``): no key, no network, a demonstration.

The packaged one, SmolLM2-135M-Instruct, shows that the whole chain works; it is too small for its figures to stand
for any release. The engine runs in a child process, which can be killed while it computes.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import (
    EmptyReplyError,
    FatalModelError,
    MissingExtraError,
    ModelError,
    RefusedCallError,
    UsageError,
)
from pytest_hush.model import Prompt, Reply, Usage
from pytest_hush.models.settings import ModelSettings
from pytest_hush.models.weights import INSTALL_LINE, file_sha256, require_packaged_gguf
from pytest_hush.protocols import Model

N_CTX: Final = 8192
"""Tokens that the engine holds. `LocalModel.context_window` is half of it, so that a budget never meets the wall."""
MAX_TOKENS: Final = 256


class _Ended(Exception):
    """The child process is gone; the text says how."""


class _Failed(Exception):
    """The child process answers that a step failed: the name of the error's class, and its text."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class _Engine:
    """The child process that holds one model (`pytest_hush.models.local_worker`), one request at a time.

    It is started by the first request, and again by the next one after it has ended.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stops = 0
        self.users: weakref.WeakSet[LocalModel] = weakref.WeakSet()

    def ask(self, user: LocalModel, request: Mapping[str, Any] | None) -> Any:
        """The child's answer; None: only see that it runs.

        Raises `_Failed` or `_Ended`, and `FatalModelError` where the model cannot be loaded.
        """
        self.users.add(user)
        stops = self._stops
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start(stops)
            return None if request is None else self._exchange(stops, request)

    def stop(self) -> None:
        """Kill the child in whatever it does; a request that waits for it raises. Any thread, at any time."""
        self._stops += 1
        process = self._process
        if process is None:
            return
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        # A request in hand closes the pipes itself: closing what another thread reads from is not safe.
        if self._lock.acquire(timeout=0.2):
            try:
                self._forget()
            finally:
                self._lock.release()

    # ---- under the lock ---------------------------------------------------------------------------

    def _start(self, stops: int) -> None:
        if self._process is not None:
            self._forget()
        if stops != self._stops:
            raise _Ended("was closed")
        source = str(Path(__file__).parents[2])
        path = os.pathsep.join(p for p in (source, os.environ.get("PYTHONPATH", "")) if p)
        self._process = subprocess.Popen(
            # -P: a file of the working directory must not stand in for a module of the standard library.
            [sys.executable, "-P", "-m", "pytest_hush.models.local_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path},
        )
        first = {"path": str(self._path), "threads": _threads(), "n_ctx": N_CTX, "sys_path": [p for p in sys.path if p]}
        try:
            self._exchange(stops, first)
        except _Failed as failure:
            self._forget()
            raise FatalModelError(
                f"Model 'local': {self._path.name} could not be loaded ({failure}). "
                "Expected a GGUF chat model; is it complete?"
            ) from None

    def _exchange(self, stops: int, request: Mapping[str, Any]) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # After the start: a stop before it had nothing to kill.
            if stops != self._stops:
                raise EOFError
            left = memoryview(json.dumps(request).encode() + b"\n")
            while left:
                left = left[process.stdin.write(left) :]
            line = bytearray()
            while not line.endswith(b"\n"):
                piece = process.stdout.read(1 << 16)
                if not piece:
                    raise EOFError
                line += piece
            answer: dict[str, Any] = json.loads(line)
        except (EOFError, OSError):
            process.kill()
            code = process.wait()
            self._forget()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise _Ended("was closed" if stops != self._stops else f"ended ({how})") from None
        except BaseException:
            # The answer to an interrupted request must not meet the next one.
            self._forget()
            raise
        if "failed" in answer:
            raise _Failed(str(answer["failed"]), str(answer["why"]))
        return answer["answer"]

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


_engines: dict[Path, _Engine] = {}


def _engine(path: Path) -> _Engine:
    """The engine of `path`, one for the whole process: half a gigabyte is not spent twice."""
    return _engines.get(path) or _engines.setdefault(path, _Engine(path))


@atexit.register
def _stop_all() -> None:
    for engine in list(_engines.values()):
        engine.stop()


class LocalModel:
    """``local`` or ``local/<gguf path>``. Plain `reply`: the run puts it in its thread pool."""

    demonstration = True
    deterministic = True
    in_flight = 1
    context_window = N_CTX // 2

    def __init__(self, path: Path, name: str, sha256: str, settings: ModelSettings) -> None:
        self.name = name
        self.max_tokens = settings.max_tokens or MAX_TOKENS
        self.settings: Mapping[str, Any] = {
            "temperature": settings.temperature,
            "weights": path.name,
            "weights_sha256": sha256[:16],
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
            "n_ctx": N_CTX,
        }
        self._path = path
        self._temperature = settings.temperature
        self._count = functools.lru_cache(maxsize=8192)(self._exact_count)

    @classmethod
    def create(cls, path: str, settings: ModelSettings) -> Model:
        """Find and check the weights; nothing is loaded. `path` empty: the packaged ones.

        Raises `MissingExtraError` with the install line, `UsageError` for a path that is no GGUF file.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtraError(f"Model 'local' needs xllamacpp, which is not installed. Run: {INSTALL_LINE}")
        _threads()
        if not path:
            weights = require_packaged_gguf()
            return cls(weights, "local", file_sha256(weights), settings)
        weights = Path(settings.rootdir or "", Path(path).expanduser())  # an absolute path stays as it is
        try:
            with weights.open("rb") as file:
                is_gguf = file.read(4) == b"GGUF"
        except OSError as error:
            raise UsageError(f"Model 'local/{path}': {weights} cannot be read ({error.strerror}).") from error
        if not is_gguf:
            raise UsageError(f"Model 'local/{path}': {weights} is not a GGUF file (its first four bytes are not GGUF).")
        return cls(weights.resolve(), f"local/{weights.stem}", file_sha256(weights), settings)

    @property
    def answers_as(self) -> tuple[object, ...]:
        """What two names of the same weights have in common."""
        return ("local", self.settings["weights_sha256"])

    def count_tokens(self, text: str) -> int:
        """The exact number of tokens of `text` for this model; loads it at the first call."""
        return self._count(text)

    def _exact_count(self, text: str) -> int:
        try:
            return int(self._ask({"op": "tokenize", "text": text}))
        except _Failed as failure:
            raise ModelError(f"Model {self.name!r}: its tokens could not be counted ({failure.kind}).") from None

    def close(self) -> None:
        """End the child process unless another model object of this process uses it too. Returns at once."""
        engine = _engines.get(self._path)
        if engine is not None:
            engine.users.discard(self)
            if not engine.users:
                engine.stop()

    def _ask(self, request: Mapping[str, Any] | None) -> Any:
        try:
            return _engine(self._path).ask(self, request)
        except _Ended as end:
            told = f"Model {self.name!r}: the local model's process {end}; another call restarts it."
            raise ModelError(told) from None

    def reply(self, prompt: Prompt) -> Reply:
        """One answer through the model's own chat template. Raises `RefusedCallError` where the prompt is too long."""
        return self._reply(prompt, {})

    def reply_json(self, prompt: Prompt, schema: Mapping[str, Any]) -> Reply:
        """The same, held to a JSON Schema by llama.cpp's grammar: in form what was asked for, whatever it says."""
        return self._reply(prompt, {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}})

    def _reply(self, prompt: Prompt, form: Mapping[str, Any]) -> Reply:
        request: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in prompt.messages],
            "max_tokens": prompt.max_tokens,
            "temperature": self._temperature or prompt.temperature,
            "seed": prompt.seed + prompt.repeat,
            "cache_prompt": False,
            **form,
        }
        self._ask(None)
        started = time.perf_counter()
        try:
            answer = self._ask({"op": "chat", "request": request})
        except _Failed as failure:
            raise ModelError(f"Model {self.name!r}: llama.cpp failed with {str(failure)[:200]}.") from None
        latency = time.perf_counter() - started
        if (fault := answer.get("error")) is not None:
            raise _refused(self.name, fault)
        choice = answer["choices"][0]
        text = choice["message"].get("content") or ""
        if not text.strip():
            raise EmptyReplyError(f"Model {self.name!r} answered with an empty text; the case has no score.")
        counts = answer.get("usage", {})
        usage = Usage(int(counts.get("prompt_tokens", 0)), int(counts.get("completion_tokens", 0)), 0.0)
        cut = ("cut at max_tokens",) if choice.get("finish_reason") == "length" else ()
        return Reply(text, self.name, usage, latency, notes=cut)


def _threads() -> int:
    """HUSH_LOCAL_THREADS, else the processors that are idle now, one to four; one beside workers of pytest-xdist.

    More threads than free cores are slower than one by a factor of ten: they wait for one another.
    """
    if text := os.environ.get("HUSH_LOCAL_THREADS", ""):
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"HUSH_LOCAL_THREADS is {text!r}; expected a number of threads from 1 up.")
        return int(text)
    if "PYTEST_XDIST_WORKER" in os.environ:
        return 1
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    busy = int(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, min(4, processors - busy))


def _refused(name: str, fault: Any) -> RefusedCallError:
    told = fault if isinstance(fault, dict) else {}
    text, code = str(told.get("message", fault))[:200], told.get("code")
    return RefusedCallError(f"Model {name!r}: {text}", status=code if isinstance(code, int) else None)
