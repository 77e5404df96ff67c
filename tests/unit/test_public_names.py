"""`__all__` is complete, sorted as ruff wants it, and every name loads."""

from __future__ import annotations

import pytest

import pytest_hush


@pytest.mark.parametrize("name", pytest_hush.__all__)
def test_name_loads(name: str) -> None:
    assert getattr(pytest_hush, name) is not None


def test_no_name_is_left_out() -> None:
    assert set(pytest_hush._MODULE_OF) == set(pytest_hush.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = pytest_hush.nonsense
