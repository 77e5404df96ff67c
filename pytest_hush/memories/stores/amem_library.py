"""The one place where A-Mem's library is loaded: its own modules run as they are, in a copy for each store.

Both editions import sentence-transformers (with PyTorch), scikit-learn, NLTK and LiteLLM for code that is never reached
once embeddings and answers come from here: 1.6 GB, nine seconds, and code that asks a network for models and prices.
The copies get placeholders instead, so none of it has to be installed or kept offline, and nothing in ``sys.modules``
changes: the user's own import of the library stays as it is. A copy for each store, because the edition of the paper's
authors keeps one Chroma in memory for a whole process, where a second store wipes the first.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.metadata
import importlib.util
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, Final

from pytest_hush.errors import MemoryStoreError, MissingExtraError
from pytest_hush.loading import environment
from pytest_hush.model import digest
from pytest_hush.protocols import Embedder

PACKAGE: Final = "agentic_memory"
INSTALL: Final = "pip install 'pytest-hush[a-mem]' && hush install a-mem"
_SYSTEM: Final = "memory_system"
_MODULES: Final = (_SYSTEM, "retrievers", "thread_safe_cache")
_UNUSED: Final = frozenset({"litellm", "nltk", "rank_bm25", "sentence_transformers", "sklearn", "transformers"})
_CHROMA: Final = "chroma"
INDEX: Final[Mapping[str, int]] = MappingProxyType(
    {"ef_search": 10_000, "ef_construction": 1_000, "max_neighbors": 64, "num_threads": 1}
)
"""Chroma's approximate index made to look at every note, as the search of the paper's scripts does.

With its defaults, four of five builds of one dialogue of 423 notes did not find the planted note, the nearest of all,
and one did: a leak that the index hides in one run is there in the next.
"""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Edition:
    """What is installed. `keeps_notes`: all of a note lies in Chroma; else the notes lie in memory as well."""

    name: str
    keeps_notes: bool
    codes: Mapping[str, CodeType]


@dataclass(slots=True)
class Swallowed:
    """Stands for the library's ``print`` and logger: it reports there what it should have raised."""

    texts: list[str] = field(default_factory=list)

    def say(self, *parts: object, **_options: object) -> None:
        self.texts.append(" ".join(map(str, parts)))

    def error(self, text: object, *_rest: object) -> None:
        self.texts.append(str(text))

    def warning(self, *_rest: object) -> None:
        """Not kept: a neighbour that is gone is no failure, nor is a reset that was not allowed."""

    info = debug = warning


@dataclass(frozen=True, slots=True)
class Opened:
    """One open store: the library's system and note class, its Chroma client, and what it passed over."""

    system: Any
    note: Any
    keeps_notes: bool
    swallowed: Swallowed
    client: Any

    def close(self) -> None:
        self.client.close()


def require_amem() -> None:
    """Raises `MissingExtraError` with the install line where a library is absent; imports nothing."""
    missing = [] if _folder() else ["a-mem"]
    if importlib.util.find_spec("chromadb") is None:
        missing.append("chromadb")
    if missing:
        raise MissingExtraError(
            f"The memory 'a-mem' needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not "
            f"installed. Run: {INSTALL}"
        )


def amem_version() -> str:
    """The edition with its version and a digest of its source, and Chroma's: they decide what is stored and found."""
    return f"{edition().name} + chromadb {importlib.metadata.version('chromadb')}"


def edition() -> Edition:
    """What is installed; compiled once, run by nobody yet. Raises `MissingExtraError`."""
    folder = _folder()
    if folder is None:
        raise MissingExtraError(f"The memory 'a-mem' needs a-mem, which is not installed. Run: {INSTALL}")
    return _edition(folder)


def open_system(folder: Path, embedder: Embedder, llm: Any) -> Opened:
    """The library's system on the store in `folder`. `llm` answers ``get_completion`` in place of its client."""
    found = edition()
    client = _client(folder / _CHROMA)
    try:
        swallowed = Swallowed()
        modules = _Modules(found, swallowed, _given(client, embedder, llm))
        module = modules.get(_SYSTEM)
        module.__dict__["logger"] = swallowed
        # Reading past the cache: what is rendered must be what is stored.
        options = {"storage_path": str(folder / _CHROMA), "enable_cache": False} if found.keeps_notes else {}
        system = module.AgenticMemorySystem(**options)
    except BaseException:
        client.close()
        raise
    return Opened(system, module.MemoryNote, found.keeps_notes, swallowed, client)


def _folder() -> Path | None:
    """Where the library lies. Another package that happens to have the same import name is not it."""
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if all((Path(place) / f"{name}.py").is_file() for name in (_SYSTEM, "retrievers", "llm_controller")):
            return Path(place)
    return None


@functools.cache
def _edition(folder: Path) -> Edition:
    paths = {name: folder / f"{name}.py" for name in _MODULES}
    sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.is_file()}
    keeps_notes = "storage_path" in sources[_SYSTEM]
    name, package = ("a-mem", "a-mem") if keeps_notes else ("agiresearch/A-mem", "agentic-memory")
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version = "of no version"
    return Edition(
        # The authors' edition has had one version for all its commits: the source says which it is.
        f"{name} {version} ({digest(sources, 8)})",
        keeps_notes,
        {name: compile(text, str(paths[name]), "exec") for name, text in sources.items()},
    )


class _Modules:
    """The library's modules, run once for one store. Its relative imports lead here, its others where they should."""

    def __init__(self, found: Edition, swallowed: Swallowed, given: Mapping[str, Any]) -> None:
        self._codes = found.codes
        self._given = given
        self._builtins = {**vars(builtins), "__import__": self._import, "print": swallowed.say}
        self._made: dict[str, ModuleType] = {}

    def get(self, name: str) -> Any:
        if name not in self._made:
            module = self._made[name] = ModuleType(f"{PACKAGE}.{name}")
            module.__dict__["__builtins__"] = self._builtins
            exec(self._codes[name], module.__dict__)
        return self._made[name]

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        wanted = "." * level + name
        if wanted in self._given:
            return self._given[wanted]
        if level:
            return self.get(name)
        if name.partition(".")[0] in _UNUSED:
            return _Placeholder(name)
        return builtins.__import__(name, globals, locals, fromlist or (), level)


class _Client:
    """What the library takes for Chroma's client: one store, whose index is `INDEX`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def get_or_create_collection(self, name: str, embedding_function: Any) -> Any:
        return self._client.get_or_create_collection(
            name=name, embedding_function=embedding_function, configuration={"hnsw": dict(INDEX)}
        )


class _Placeholder:
    """A library that is imported and not used. What is taken from it refuses to be called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        def refuse(*_args: object, **_options: object) -> None:
            raise MemoryStoreError(
                f"a-mem called {self._name}.{attribute}, which this adapter does without. Is it another version of the "
                f"library? Run: {INSTALL}"
            )

        return refuse


def _given(client: Any, embedder: Embedder, llm: Any) -> dict[str, Any]:
    """What the library's modules get for these imports: this store's Chroma, the run's embedder and answers."""
    embedding = _embedding(embedder)

    def this_client(*_args: object, **_options: object) -> _Client:
        return _Client(client)

    return {
        "chromadb": SimpleNamespace(PersistentClient=this_client, Client=this_client, Collection=object),
        "chromadb.utils.embedding_functions": SimpleNamespace(
            SentenceTransformerEmbeddingFunction=lambda **_options: embedding
        ),
        ".llm_controller": SimpleNamespace(LLMController=lambda *_args: SimpleNamespace(llm=llm)),
    }


def _client(path: Path) -> Any:
    chromadb = _chromadb("chromadb")
    settings = _chromadb("chromadb.config").Settings(
        # Else a .env or the environment of the user's program could send this store, or traces of it, elsewhere.
        _env_file=None,
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        chroma_otel_collection_endpoint="",
        allow_reset=False,
    )
    return chromadb.PersistentClient(path=str(path), settings=settings)


def _chromadb(name: str) -> Any:
    with _lock, environment(ANONYMIZED_TELEMETRY="False"):
        return importlib.import_module(name)


def _embedding(embedder: Embedder) -> Any:
    """The run's embedder as one of Chroma's: in this process, the same bytes for the same text."""

    def call(_self: object, input: Sequence[str]) -> list[Any]:
        return list(embedder.embed([text.replace("\n", " ") for text in input]))

    parts = {
        "__init__": lambda _self: None,
        "__call__": call,
        "name": staticmethod(lambda: "pytest-hush"),
        "get_config": lambda _self: {},
        "build_from_config": staticmethod(lambda _config: _embedding(embedder)),
    }
    return type("Embedding", (_chromadb("chromadb.api.types").EmbeddingFunction,), parts)()
