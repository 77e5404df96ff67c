"""What other threads say is hidden and counted; what this one says stays, and all is as before afterwards."""

from __future__ import annotations

import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest

from pytest_hush.plugin.muffler import HIDDEN, Muffler
from pytest_hush.store.records import StoreWarning


@pytest.fixture
def muffler() -> Iterator[Muffler]:
    made = Muffler()
    made.start()
    yield made
    made.stop()


def elsewhere(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def replaced(monkeypatch: pytest.MonkeyPatch, name: str = "stdout") -> io.BytesIO:
    """A stream in the place of pytest's, which puts its own there when a test is called."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, name, io.TextIOWrapper(written, encoding="utf-8", write_through=True))
    return written


def test_other_threads_are_hidden_and_counted_on_every_way_to_a_stream(
    muffler: Muffler, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = replaced(monkeypatch)
    muffler.cover(sys.stdout)

    def say() -> None:
        print("secret\nof two lines", flush=True)
        sys.stdout.buffer.write(b"secret bytes\n")
        sys.stdout.writelines(["secret\n", "lines\n"])

    sys.stdout.write("mine, ")
    elsewhere(say)
    print("whole")
    with muffler.everyone():
        print("secret")
    assert written.getvalue() == b"mine, whole\n"
    assert muffler.lines == 6


def test_a_stream_that_comes_later_is_covered_once(muffler: Muffler, monkeypatch: pytest.MonkeyPatch) -> None:
    written = replaced(monkeypatch)
    muffler.cover(sys.stdout)
    muffler.cover(sys.stdout)
    elsewhere(lambda: print("secret"))
    assert (written.getvalue(), muffler.lines) == (b"", 1)
    muffler.stop()
    elsewhere(lambda: print("shown"))
    assert written.getvalue() == b"shown\n"


def test_log_records_lose_their_text_but_the_packages_own(muffler: Muffler, caplog: pytest.LogCaptureFixture) -> None:
    def log() -> None:
        try:
            raise ValueError("secret")
        except ValueError:
            logging.getLogger("mine").exception("secret %s", "secret")
        logging.getLogger("pytest_hush").warning("a record hook failed")

    elsewhere(log)
    logging.getLogger("mine").warning("said by a test")
    assert [r.getMessage() for r in caplog.records] == [HIDDEN, "a record hook failed", "said by a test"]
    assert "secret" not in caplog.text
    assert muffler.lines == 1


def test_warnings_and_threads_that_die_are_told_without_their_text(muffler: Muffler) -> None:
    def warn() -> None:
        warnings.warn("secret", UserWarning, stacklevel=1)
        warnings.warn("a garbled line was set aside", StoreWarning, stacklevel=1)
        raise KeyError("secret")

    with warnings.catch_warnings(record=True) as caught, muffler.warned():
        warnings.simplefilter("always")
        elsewhere(warn)
        warnings.warn("of a test", UserWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == ["a garbled line was set aside", "of a test"]
    assert len(muffler.died) == 1
    assert muffler.died[0].startswith("a thread of your code ended with KeyError at test_muffler.py:")
