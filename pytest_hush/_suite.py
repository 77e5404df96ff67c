"""The built-in tests, collected as ``hush::…`` when hush runs without code.

A test here passes when its case was *measured*. Whether what was measured is acceptable is for the gates.
"""

from __future__ import annotations

import pytest

from pytest_hush.model import Record


def test_case(hush_record: Record) -> None:
    _measured(hush_record)


def test_positive_control(hush_control_record: Record) -> None:
    _measured(hush_control_record)


def _measured(record: Record) -> None:
    __tracebackhide__ = True
    if record.status == "unplanted":
        pytest.skip(f"unplanted, counts as missing: {record.error}")
    if not record.measured:
        pytest.fail(f"{record.status}: {record.error}", pytrace=False)
