from __future__ import annotations

import os
import threading

import pytest

from pytest_hush.loading import environment
from pytest_hush.secrets import blot


def test_secrets_are_blotted_while_another_thread_changes_the_environment() -> None:
    """pytest sets and removes PYTEST_CURRENT_TEST for every test, and cases are measured in another thread."""
    stop = threading.Event()

    def toggle() -> None:
        while not stop.is_set():
            os.environ["HUSH_TEST_TOGGLE"] = "x"
            os.environ.pop("HUSH_TEST_TOGGLE", None)

    thread = threading.Thread(target=toggle)
    thread.start()
    try:
        for _ in range(3000):
            assert blot("text") == "text"
    finally:
        stop.set()
        thread.join()


def test_a_secret_of_the_environment_is_blotted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUSH_TEST_API_KEY", "sk-0123456789")
    monkeypatch.setenv("HUSH_TEST_OTHER_KEY", "short")
    assert blot("sk-0123456789, a short one") == "<secret>, a short one"


def test_the_environment_is_as_it_was_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUSH_TEST_HAD", "before")
    monkeypatch.delenv("HUSH_TEST_NEW", raising=False)
    seen: list[str] = []

    def fails() -> None:
        with environment(HUSH_TEST_HAD="now", HUSH_TEST_NEW="1"):
            seen.extend((os.environ["HUSH_TEST_HAD"], os.environ["HUSH_TEST_NEW"]))
            raise ImportError

    with pytest.raises(ImportError):
        fails()
    assert seen == ["now", "1"]
    assert os.environ["HUSH_TEST_HAD"] == "before"
    assert "HUSH_TEST_NEW" not in os.environ
