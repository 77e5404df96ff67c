"""The one place where Mem0's library is imported: telemetry off, its own files beside the stores, its log quiet."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import logging
import threading
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import MissingExtraError
from pytest_hush.loading import environment
from pytest_hush.memories.stores.threads import THREADS

PROVIDER: Final = "pytest_hush"
"""Under this name Mem0's factories make the model and the embedder of the run (`mem0_parts`)."""
_PARTS: Final = "pytest_hush.memories.stores.mem0_parts"
_MODULES: Final = {"mem0": "mem0ai", "faiss": "faiss-cpu"}
_SPACY_MODEL: Final = "en_core_web_sm"
_LOGGERS: Final = ("mem0.memory.main", "mem0.vector_stores.faiss", "mem0.utils.spacy_models")
_lock = threading.Lock()


def require_mem0() -> None:
    """Raises `MissingExtraError` with the install line where a library is absent; imports nothing."""
    missing = [package for module, package in _MODULES.items() if importlib.util.find_spec(module) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise MissingExtraError(
            f"The memory 'mem0' needs {' and '.join(missing)}, which {are} not installed. "
            f"Run: pip install 'pytest-hush[mem0]'"
        )


def mem0_version() -> str:
    """The libraries that decide what is stored and found: spaCy, where it is there, changes Mem0's ranking."""
    found = [f"{package} {importlib.metadata.version(package)}" for package in _MODULES.values()]
    if _has_spacy():
        found.append(f"spacy {importlib.metadata.version('spacy')} with {_SPACY_MODEL}")
    return " + ".join(found)


def open_memory(home: Path, *, model: object, embedder: object, index: dict[str, Any], history: Path) -> Any:
    """One of Mem0's `Memory` objects. Whatever the library writes on its own goes to `home`; nothing is sent.

    `model` and `embedder` are what `mem0_parts` is made with; `index` is the configuration of the vector store.
    """
    with _lock:
        _import(home)
    configs: Any = importlib.import_module("mem0.configs.base")
    llms: Any = importlib.import_module("mem0.llms.configs")
    embeddings: Any = importlib.import_module("mem0.embeddings.configs")
    # Constructed without validation, which knows the names of Mem0's own providers only.
    config = configs.MemoryConfig(
        llm=llms.LlmConfig.model_construct(provider=PROVIDER, config={"model": model}),
        embedder=embeddings.EmbedderConfig.model_construct(provider=PROVIDER, config={"model": embedder}),
        vector_store={"provider": "faiss", "config": index},
        history_db_path=str(history),
    )
    return importlib.import_module("mem0").Memory(config)


@functools.cache
def _import(home: Path) -> None:
    """Import and prepare the library; under the lock. The first store's `home` is that of the process."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with environment(MEM0_TELEMETRY="False", MEM0_DIR=str(home)):
        importlib.import_module("mem0")
    for name in ("mem0.memory.telemetry", "mem0.memory.main"):
        # The user's program may have imported the library before, with its telemetry on.
        importlib.import_module(name).__dict__["MEM0_TELEMETRY"] = False
    if not _has_spacy():
        # Else the library downloads the model into the user's environment as soon as spaCy itself is there.
        spacy_models: Any = importlib.import_module("mem0.utils.spacy_models")
        spacy_models._load_failed_full = spacy_models._load_failed_lemma = True
    factory: Any = importlib.import_module("mem0.utils.factory")
    factory.LlmFactory.register_provider(PROVIDER, f"{_PARTS}.ChannelModel")
    factory.EmbedderFactory.provider_to_class[PROVIDER] = f"{_PARTS}.RunEmbedding"
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_not_ours)


def _not_ours(record: logging.LogRecord) -> bool:
    """False for what the library logs while it works for this package: failures there are found and raised."""
    return not (record.threadName or "").startswith(THREADS)


def _has_spacy() -> bool:
    return all(importlib.util.find_spec(module) is not None for module in ("spacy", _SPACY_MODEL))
