from __future__ import annotations

from typing import Any

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.memories.stores.settings import Table


def read(**values: Any) -> tuple[object, ...]:
    table = Table("demo", values)
    found = (
        table.choice("mode", ("a", "b"), "b"),
        table.integer("top_k", 5, 1, 5),
        table.number("threshold", 0.1, 0, 1),
        table.boolean("in_order", False),
    )
    table.end()
    return found


def test_defaults_and_values() -> None:
    assert read() == ("b", 5, 0.1, False)
    assert read(mode="a", top_k=1, threshold=1, in_order=True) == ("a", 1, 1.0, True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "c"}, r"demo.mode = 'c': expected one of a, b"),
        ({"top_k": 6}, r"demo.top_k = 6: expected a whole number from 1 to 5"),
        ({"top_k": True}, "top_k = True"),
        ({"threshold": "0.2"}, r"demo.threshold = '0.2': expected a number from 0 to 1"),
        ({"threshold": float("nan")}, "threshold = nan"),
        ({"in_order": 1}, "in_order = 1: expected true or false"),
        ({"topk": 3}, r"demo: unknown setting 'topk' \(known: mode, top_k, threshold, in_order\)"),
    ],
)
def test_wrong_values(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(**values)
