"""The memory systems with an adapter here: name -> where it is made. An adapter is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_hush.protocols import Embedder, Model

if TYPE_CHECKING:
    from pytest_hush.memories.stores.base import StoreMemory

SYSTEMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "mem0": "pytest_hush.memories.stores.mem0",
        "a-mem": "pytest_hush.memories.stores.amem",
        "memu": "pytest_hush.memories.stores.memu",
    }
)
"""Each module has ``create(parts: Parts) -> StoreMemory``."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the run gives to an adapter. `settings` are the user's own table; every key must be known.

    `model` makes the extraction model, None where none is configured: then the mode without a model is the default.
    """

    settings: Mapping[str, Any]
    embedder: Callable[[], Embedder]
    folder: Path
    model: Callable[[], Model] | None = None


def resolve_store(name: str, parts: Parts) -> StoreMemory:
    """The memory of the system `name`; nothing is ingested and no library imported yet.

    Raises `UsageError` on a wrong setting and `MissingExtraError` with the install line.
    """
    create = cast("Callable[[Parts], StoreMemory]", importlib.import_module(SYSTEMS[name]).create)
    return create(parts)
