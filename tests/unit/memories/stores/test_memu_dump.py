"""The dump of MemU's store: every record and every bit of a vector comes back, and what is damaged is never read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.embed import default_embedder
from pytest_hush.errors import StoreError
from pytest_hush.memories.stores.memu_dump import RECORDS, VECTORS, dump, restore
from pytest_hush.memories.stores.memu_library import open_service
from tests.unit.memories.stores.memu_extraction import needs_memu

USER = {"user_id": "persona"}
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
ITEMS = st.lists(st.tuples(st.text(), st.lists(FLOATS, min_size=3, max_size=3), st.booleans()), max_size=6)


@pytest.fixture(autouse=True)
def libraries() -> None:
    needs_memu()


def database(folder: Path) -> Any:
    return open_service(folder, channel=None, embedder=default_embedder(), summaries=False).database


def filled(folder: Path) -> Any:
    found = database(folder)
    read = found.resource_repo.create_resource(
        url="a_#segment_0.json",
        modality="conversation",
        local_path=str(folder / "resources" / "a.json"),
        caption="A talk.",
        embedding=[0.5, 0.25, 0.0],
        user_data=dict(USER),
    )
    category = found.memory_category_repo.get_or_create_category(
        name="goals", description="Goals", embedding=[0.1, 0.2, 0.3], user_data=dict(USER)
    )
    found.memory_category_repo.update_category(category_id=category.id, summary="# goals\n- häuser 🏠")
    for number in range(3):
        item = found.memory_item_repo.create_item(
            resource_id=read.id,
            memory_type="event",
            summary=f"item {number}",
            embedding=[1 / 3, -number / 7, 1e-30],
            user_data=dict(USER),
        )
        found.memory_item_repo.update_item(item_id=item.id, extra={"date": "2025-01-10T18:00"})
        found.category_item_repo.link_item_category(item.id, category.id, user_data=dict(USER))
    return found


def content(found: Any) -> dict[str, list[dict[str, Any]]]:
    """Everything in a database, with vectors as bytes."""

    def row(record: Any) -> dict[str, Any]:
        vector = getattr(record, "embedding", None)
        bits = None if vector is None else np.asarray(vector, dtype=np.float32).tobytes()
        return {**record.model_dump(exclude={"embedding"}), "vector": bits}

    return {
        "resources": [row(r) for r in found.resource_repo.list_resources().values()],
        "categories": [row(r) for r in found.memory_category_repo.list_categories().values()],
        "items": [row(r) for r in found.memory_item_repo.list_items().values()],
        "relations": [row(r) for r in found.category_item_repo.list_relations()],
    }


def test_everything_comes_back_and_paths_are_relative(tmp_path: Path) -> None:
    before = filled(tmp_path)
    dump(before, tmp_path)
    after = database(tmp_path)
    restore(after, tmp_path)
    expected = content(before)
    expected["resources"][0]["local_path"] = "resources/a.json"
    assert content(after) == expected
    assert {len(rows) for rows in expected.values()} == {1, 3}


def test_a_restored_store_goes_on_as_the_old_one(tmp_path: Path) -> None:
    dump(filled(tmp_path), tmp_path)
    found = database(tmp_path)
    restore(found, tmp_path)
    repository = found.memory_item_repo
    assert [i.summary for i in repository.list_items(USER).values()] == ["item 0", "item 1", "item 2"]
    new = repository.create_item(
        resource_id=None, memory_type="event", summary="new", embedding=[0.0, 1.0, 0.0], user_data=dict(USER)
    )
    assert repository.vector_search_items([0.0, 1.0, 0.0], 1, where=USER)[0][0] == new.id
    same = found.memory_category_repo.get_or_create_category(
        name="goals", description="", embedding=[0.0], user_data=dict(USER)
    )
    assert same.summary == "# goals\n- häuser 🏠", "a category is one for all sessions"
    dump(found, tmp_path)
    again = database(tmp_path)
    restore(again, tmp_path)
    assert content(again) == content(found)


def test_any_items_come_back_in_their_order_bit_by_bit(tmp_path: Path) -> None:
    found, after = database(tmp_path), database(tmp_path)

    @given(ITEMS)
    @settings(max_examples=60, deadline=None)
    def check(rows: list[tuple[str, list[float], bool]]) -> None:
        for old in (found, after):
            old.memory_item_repo.clear_items()
        for text, vector, embedded in rows:
            item = found.memory_item_repo.create_item(
                resource_id=None, memory_type="profile", summary=text, embedding=vector, user_data=dict(USER)
            )
            item.embedding = vector if embedded else None
        dump(found, tmp_path)
        restore(after, tmp_path)
        assert content(after) == content(found)

    check()


def test_an_empty_folder_is_an_empty_store(tmp_path: Path) -> None:
    found = database(tmp_path)
    restore(found, tmp_path)
    dump(found, tmp_path)
    restore(found, tmp_path)
    assert all(rows == [] for rows in content(found).values())


def test_nothing_in_a_dump_is_code(tmp_path: Path) -> None:
    dump(filled(tmp_path), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == [RECORDS, VECTORS]
    np.save(tmp_path / VECTORS, np.array([{}], dtype=object), allow_pickle=True)
    data = json.loads((tmp_path / RECORDS).read_text("utf-8"))
    from hashlib import sha256

    data["vectors"] = sha256((tmp_path / VECTORS).read_bytes()).hexdigest()
    (tmp_path / RECORDS).write_text(json.dumps(data), "utf-8")
    with pytest.raises(StoreError, match="allow_pickle"):
        restore(database(tmp_path), tmp_path)


def damage(data: dict[str, Any], how: str) -> str:
    if how == "cut":
        return json.dumps(data)[:-20]
    if how == "schema":
        return json.dumps({**data, "schema": 2})
    if how == "field":
        del data["items"][0]["summary"]
    if how == "index":
        data["items"][0]["vector"] = 99
    if how == "list":
        return "[]"
    return json.dumps(data)


@pytest.mark.parametrize("how", ["cut", "schema", "field", "index", "list"])
def test_damaged_records_are_an_error(tmp_path: Path, how: str) -> None:
    dump(filled(tmp_path), tmp_path)
    path = tmp_path / RECORDS
    path.write_text(damage(json.loads(path.read_text("utf-8")), how), "utf-8")
    with pytest.raises(StoreError, match=r"memu.json: this dump of MemU's store is damaged \("):
        restore(database(tmp_path), tmp_path)


@pytest.mark.parametrize("how", ["gone", "cut", "other"])
def test_damaged_vectors_are_an_error(tmp_path: Path, how: str) -> None:
    dump(filled(tmp_path), tmp_path)
    path = tmp_path / VECTORS
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-8])
    else:
        np.save(path, np.ones((5, 3), dtype=np.float32))
    with pytest.raises(StoreError, match="damaged"):
        restore(database(tmp_path), tmp_path)
