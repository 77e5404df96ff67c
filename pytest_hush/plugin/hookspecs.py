"""The hooks by which models, memories, judges and packs come in, and plans, records and verdicts go out.

Write them in a ``conftest.py``, or in a package that registers under the entry point ``pytest_hush``; the
built-in ones (`pytest_hush.plugin.builtin`) use the same hooks and come last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_hush.gate import Verdict
    from pytest_hush.model import Condition, Pack, Record
    from pytest_hush.plan import Plan
    from pytest_hush.plugin.options import Options
    from pytest_hush.protocols import Judge, Memory, Model


@pytest.hookspec(firstresult=True)
def pytest_hush_model(spec: str, options: Options) -> Model | None:
    """The generator for one ``--hush-model`` value, or None when `spec` is not yours.

    The first answer wins. Raise `pytest_hush.UsageError` for a spec that is yours but wrong.
    """


@pytest.hookspec(firstresult=True)
def pytest_hush_memory(
    condition: Condition, pack: Pack, models: Mapping[str, Model], options: Options
) -> Memory | None:
    """The memory for one condition of ``--hush-memory``, modifiers included, or None when it is not yours.

    `models` are the plan's generators by name: ``full-context`` reads their context windows.
    """


@pytest.hookspec(firstresult=True)
def pytest_hush_judge(spec: str, options: Options) -> Judge | None:
    """The judge for ``--hush-judge``, or None when `spec` is not yours."""


@pytest.hookspec(firstresult=True)
def pytest_hush_pack(spec: str, options: Options) -> Pack | None:
    """The pack for ``--hush-pack``, or None when `spec` is not yours."""


@pytest.hookspec(firstresult=True)
def pytest_hush_plan(plan: Plan, options: Options) -> Plan | None:
    """Replace the plan before anything runs, or return None to keep it.

    The plan returned must be the same in every process: gates are judged on it.
    """


@pytest.hookspec
def pytest_hush_record(record: Record) -> None:
    """Called once for each finished case, in the process that measured it, as soon as it is stored."""


@pytest.hookspec
def pytest_hush_verdicts(verdicts: Sequence[Verdict], records: Sequence[Record], plan: Plan) -> None:
    """Called once with all verdicts, in the process that owns the exit code, before they are reported."""
