"""MemU's in-memory store on disk: its records as JSON, their vectors as one NumPy array beside it; no pickle.

Of MemU 1.5.1's stores only the one in memory works. It is read and filled through the repositories of its `database`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pytest_hush.errors import StoreError

RECORDS: Final = "memu.json"
VECTORS: Final = "vectors.npy"
SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class _Table:
    """Where the database keeps one kind of record, and the class of these records."""

    name: str
    repository: str
    model: str

    def of(self, database: Any) -> Any:
        """The repository's own dict by id, or its list of relations."""
        return getattr(getattr(database, self.repository), self.name)

    def class_of(self, database: Any) -> Any:
        return getattr(getattr(database, self.repository), self.model)


_TABLES: Final = (
    _Table("resources", "resource_repo", "resource_model"),
    _Table("categories", "memory_category_repo", "memory_category_model"),
    _Table("items", "memory_item_repo", "memory_item_model"),
    _Table("relations", "category_item_repo", "category_item_model"),
)


def dump(database: Any, folder: Path) -> None:
    """Write all records of `database` to `folder`, in their order. Raises `OSError` on a full disk.

    Paths inside `folder` are written relative to it: the folder will be renamed and copied.
    """
    vectors: list[Any] = []
    tables = {table.name: [_row(r, folder, vectors) for r in _records(table.of(database))] for table in _TABLES}
    array = np.asarray(vectors, dtype=np.float32).reshape(len(vectors), -1 if vectors else 0)
    with (folder / f"{VECTORS}.new").open("wb") as file:
        np.save(file, array, allow_pickle=False)
    data = {"schema": SCHEMA, "vectors": _sha256(folder / f"{VECTORS}.new"), **tables}
    (folder / f"{RECORDS}.new").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    for name in (VECTORS, RECORDS):
        (folder / f"{name}.new").replace(folder / name)


def restore(database: Any, folder: Path) -> None:
    """Fill the empty `database` with what `dump` wrote to `folder`; nothing there leaves it empty.

    Raises `StoreError` where the two files cannot be read, or are not of one dump.
    """
    path = folder / RECORDS
    if not path.exists():
        return
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA or data["vectors"] != _sha256(folder / VECTORS):
            raise ValueError("another version, or vectors of another dump")
        vectors = np.load(folder / VECTORS, allow_pickle=False)
        for table in _TABLES:
            records, model = table.of(database), table.class_of(database)
            for row in data[table.name]:
                at = row.pop("vector", None)
                record = model.model_validate(row)
                if at is not None:
                    record.embedding = vectors[at]
                if isinstance(records, dict):
                    records[record.id] = record
                else:
                    records.append(record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{path}: this dump of MemU's store is damaged ({error}). Remove the folder 'memu' of the stores (beside "
            f"the response cache); its stores are built anew."
        ) from error


def _records(table: Any) -> Iterator[Any]:
    yield from table.values() if isinstance(table, dict) else table


def _row(record: Any, folder: Path, vectors: list[Any]) -> dict[str, Any]:
    row: dict[str, Any] = record.model_dump(mode="json", exclude={"embedding"})
    for key in {"url", "local_path"} & row.keys():
        path = Path(row[key])
        row[key] = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else row[key]
    vector = getattr(record, "embedding", None)
    if vector is not None:
        row["vector"] = len(vectors)
        vectors.append(vector)
    return row


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
