"""Where the run's state hangs on pytest's config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_hush.plugin.session import HushSession

SESSION: pytest.StashKey[HushSession] = pytest.StashKey()
