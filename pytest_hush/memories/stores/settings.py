"""The user's table of one memory system, read key by key: every key is known, every value is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pytest_hush.errors import UsageError

_T = TypeVar("_T", bound=str)


class Table:
    """Reads one table; `end` refuses what is left. Errors are `UsageError` that name the key and what is expected."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self._name = name
        self._left = dict(values)
        self._known: list[str] = []

    def choice(self, key: str, choices: Sequence[_T], default: _T) -> _T:
        value = self._take(key, default)
        for choice in choices:
            if value == choice:
                return choice
        raise self._wrong(key, value, f"one of {', '.join(choices)}")

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        value = self._take(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise self._wrong(key, value, f"a whole number from {low} to {high}")

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self._take(key, default)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            return float(value)
        raise self._wrong(key, value, f"a number from {low:g} to {high:g}")

    def boolean(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if isinstance(value, bool):
            return value
        raise self._wrong(key, value, "true or false")

    def end(self) -> None:
        """Raise for a key that nobody asked for."""
        if self._left:
            raise UsageError(
                f"memory settings, {self._name}: unknown setting {sorted(self._left)[0]!r} "
                f"(known: {', '.join(self._known)})."
            )

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._left.pop(key, default)

    def _wrong(self, key: str, value: Any, expected: str) -> UsageError:
        return UsageError(f"memory settings, {self._name}.{key} = {value!r}: expected {expected}.")
