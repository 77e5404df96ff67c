"""A small real language model in this process (llama.cpp by ``xllamacpp``): no key, no network, a demonstration.

The packaged one, SmolLM2-135M-Instruct, shows that the whole chain works; it is too small for its figures to stand
for any release.
"""

from __future__ import annotations

import ctypes
import functools
import http.client
import importlib.metadata
import importlib.util
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pytest_hush.errors import FatalModelError, MissingExtraError, ModelError, RefusedCallError, UsageError
from pytest_hush.model import Prompt, Reply, Usage
from pytest_hush.models.settings import ModelSettings
from pytest_hush.models.weights import INSTALL_LINE, file_sha256, require_packaged_gguf
from pytest_hush.protocols import Model

N_CTX: Final = 8192
"""Tokens that the engine holds. `LocalModel.context_window` is half of it, so that a budget never meets the wall."""
MAX_TOKENS: Final = 256


class _Engine:
    """One loaded model of this process. Deterministic at T = 0: one slot, no prompt cache, one inference at a time."""

    def __init__(self, path: Path) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = N_CTX
        params.n_parallel = 1
        params.cache_prompt = False
        params.cache_ram_mib = 0
        params.warmup = False
        params.verbosity = -1
        params.ui = False
        params.offline = True
        threads = _threads()
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        # The library always opens a port on the loopback address; a random key keeps it for this process alone.
        self._key = secrets.token_urlsafe(24)
        params.api_keys = [self._key]
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise FatalModelError(
                f"Model 'local': {path.name} could not be loaded ({error}). Expected a GGUF chat model; is it complete?"
            ) from error
        # The destructor waits for the inference in hand, which would hold up an interrupted run by seconds: the
        # object is never freed, and the process's end takes it along.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
        self._address = urlsplit(self._server.listening_address)
        self._lock = threading.Lock()

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            answer: dict[str, Any] = self._server.handle_chat_completions(request)
            return answer

    def count(self, text: str) -> int:
        connection = http.client.HTTPConnection(str(self._address.hostname), self._address.port or 80, timeout=60)
        try:
            body = json.dumps({"content": text}).encode()
            head = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
            connection.request("POST", "/tokenize", body, head)
            return len(json.loads(connection.getresponse().read())["tokens"])
        finally:
            connection.close()


_loading = threading.Lock()
_engines: dict[Path, _Engine] = {}


def _engine(path: Path) -> _Engine:
    """The engine of `path`, loaded once for the whole process: half a gigabyte is not spent twice."""
    with _loading:
        if path not in _engines:
            _engines[path] = _Engine(path)
        return _engines[path]


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
        weights = Path(path).expanduser()
        if not weights.is_absolute() and settings.rootdir:
            weights = Path(settings.rootdir) / weights
        try:
            with weights.open("rb") as file:
                is_gguf = file.read(4) == b"GGUF"
        except OSError as error:
            raise UsageError(f"Model 'local/{path}': {weights} cannot be read ({error.strerror}).") from error
        if not is_gguf:
            raise UsageError(f"Model 'local/{path}': {weights} is not a GGUF file (its first four bytes are not GGUF).")
        return cls(weights.resolve(), f"local/{weights.stem}", file_sha256(weights), settings)

    def count_tokens(self, text: str) -> int:
        """The exact number of tokens of `text` for this model; loads it at the first call."""
        return self._count(text)

    def _exact_count(self, text: str) -> int:
        try:
            return _engine(self._path).count(text)
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            raise ModelError(
                f"Model {self.name!r}: its tokens could not be counted ({type(error).__name__})."
            ) from error

    def reply(self, prompt: Prompt) -> Reply:
        """One answer through the model's own chat template. Raises `RefusedCallError` where the prompt is too long."""
        engine = _engine(self._path)
        started = time.perf_counter()
        try:
            answer = engine.chat(
                {
                    "messages": [{"role": m.role, "content": m.content} for m in prompt.messages],
                    "max_tokens": prompt.max_tokens,
                    "temperature": self._temperature or prompt.temperature,
                    "seed": prompt.seed + prompt.repeat,
                    "cache_prompt": False,
                }
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"Model {self.name!r}: llama.cpp failed with {str(error)[:200]}.") from error
        latency = time.perf_counter() - started
        fault = answer.get("error")
        if fault is not None:
            raise RefusedCallError(f"Model {self.name!r}: {_fault_text(fault)}", status=_fault_code(fault))
        choice = answer["choices"][0]
        text = choice["message"].get("content") or ""
        if not text.strip():
            raise RefusedCallError(f"Model {self.name!r} answered with an empty text; the case has no score.")
        counts = answer.get("usage", {})
        usage = Usage(int(counts.get("prompt_tokens", 0)), int(counts.get("completion_tokens", 0)), 0.0)
        notes = ("cut at max_tokens",) if choice.get("finish_reason") == "length" else ()
        return Reply(text, self.name, usage, latency, notes=notes)


def _threads() -> int:
    """HUSH_LOCAL_THREADS, else the processors that are idle now, one to four; one beside workers of pytest-xdist.

    More threads than free cores are slower than one by a factor of ten: they wait for one another.
    """
    text = os.environ.get("HUSH_LOCAL_THREADS", "")
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"HUSH_LOCAL_THREADS is {text!r}; expected a number of threads from 1 up.")
        return int(text)
    if "PYTEST_XDIST_WORKER" in os.environ:
        return 1
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    busy = int(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, min(4, processors - busy))


def _fault_text(fault: Any) -> str:
    return str(fault.get("message", fault) if isinstance(fault, dict) else fault)[:200]


def _fault_code(fault: Any) -> int | None:
    code = fault.get("code") if isinstance(fault, dict) else None
    return code if isinstance(code, int) else None
