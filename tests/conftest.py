"""Shared by all tests: pytester, and the paths that some tests read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).resolve().parent.parent
LOCOMO = Path(os.environ.get("HUSH_LOCOMO") or REPOSITORY.parent / "shared" / "data" / "locomo" / "locomo10.json")
DIALOGUES = Path(os.environ.get("HUSH_DIALOGUES") or REPOSITORY.parent / "shared" / "data" / "alt")
"""Folder of MemoryBank's and MADial-Bench's files, which are not part of the project."""


@pytest.fixture(autouse=True)
def not_a_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs within tests write no annotation and no step summary into the job that tests this project."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def locomo() -> Path:
    """LoCoMo's file of ten dialogues; the test is skipped where it is absent (CC BY-NC: never copied here)."""
    if not LOCOMO.is_file():
        pytest.skip(f"LoCoMo is not here: set HUSH_LOCOMO to locomo10.json (looked at {LOCOMO})")
    return LOCOMO


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What holds for this project's own tests alone: warnings are errors, and no test takes five minutes."""
    own = Path(__file__).parent
    for item in items:
        if own in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("error"))
            if config.pluginmanager.hasplugin("timeout") and item.get_closest_marker("real") is None:
                item.add_marker(pytest.mark.timeout(300))


@pytest.fixture
def third_party_dialogues() -> Path:
    """The folder of MemoryBank's and MADial-Bench's files; skips by name where it is absent."""
    if not DIALOGUES.is_dir():
        pytest.skip(f"MemoryBank and MADial-Bench are not here: set HUSH_DIALOGUES (looked at {DIALOGUES})")
    return DIALOGUES
