"""One live session a run folder: the second is refused by name, and a killed one stands in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.store.hold import hold, refuse_held

HOLDING = "import sys, time; from pathlib import Path; from pytest_hush.store.hold import hold\n"
HOLDING += "let_go = hold(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"


def test_a_second_session_is_told_the_folder_and_the_process(tmp_path: Path) -> None:
    let_go = hold(tmp_path)
    for take in (hold, refuse_held):
        with pytest.raises(StoreError) as caught:
            take(tmp_path)
        assert str(tmp_path) in str(caught.value)
        assert f"process {os.getpid()}" in str(caught.value)
    let_go()
    let_go()
    refuse_held(tmp_path)
    hold(tmp_path)()


def test_a_killed_session_does_not_block(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"held"
        with pytest.raises(StoreError, match=f"process {other.pid}"):
            hold(tmp_path)
        other.kill()
        other.wait(30)
    hold(tmp_path)()
