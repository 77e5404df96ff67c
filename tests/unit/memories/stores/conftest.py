"""Tests of a memory system's library name it in ``SYSTEM``; they are skipped by name where the library is absent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.memories import resolve_memory
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack
from tests.unit.memories.stores.notebook import close
from tests.unit.memories.stores.systems import NEEDS, Make


@pytest.fixture(autouse=True)
def libraries(request: pytest.FixtureRequest) -> None:
    system = getattr(request.module, "SYSTEM", "")
    if system:
        NEEDS[system]()


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[StoreMemory] = []
    system: str = request.module.SYSTEM

    def memory(model: Any = None, **settings: Any) -> StoreMemory:
        found = resolve_memory(
            Condition.parse(system),
            pack=pack(),
            embedder=default_embedder,
            stores=tmp_path / "stores",
            settings={system: settings},
            memory_model=None if model is None else lambda: model,
        )
        assert isinstance(found, StoreMemory)
        made.append(found)
        return found

    yield memory
    for one in made:
        close(one)
    assert [p for p in tmp_path.rglob("forks/*") if p.is_dir()] == []
