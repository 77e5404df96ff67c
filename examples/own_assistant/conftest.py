"""Puts the assistant in this folder under test."""

import pytest
from notebook import Assistant


@pytest.fixture(scope="session")
def hush_assistant():
    return Assistant()
