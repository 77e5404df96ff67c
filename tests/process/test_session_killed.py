"""A pytest run that dies: what is finished is kept, nothing passes on what is missing, a resume completes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pytest_hush.store.hold import hold
from tests.plugin.conftest import JUDGE, read_lines, read_result

MODEL = """
import asyncio, os
from pathlib import Path

async def reply(messages):
    with Path("calls.txt").open("a") as calls:
        calls.write("call\\n")
    await asyncio.sleep(float(os.environ.get("SLOW", "0.05")))
    return "A short list helps: " + messages[-1]["content"].splitlines()[-1]
"""
OPTIONS = (
    "--hush-model=python:slow:reply",
    "--hush-memory=oracle",
    "--hush-sample=40",
    "--hush-judge=python:judging:judge",
    "--hush-out=out",
    "--hush-in-flight=4",
    "--hush-cache=off",
    "-p",
    "no:asyncio",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "judging.py").write_text(JUDGE, encoding="utf-8")
    return tmp_path


def start(folder: Path, *options: str, slow: str = "0.3") -> subprocess.Popen[bytes]:
    # A session of its own: the signal reaches this run and its workers, never the runner of this test.
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *OPTIONS, *options],
        cwd=folder,
        env={**os.environ, "SLOW": slow},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # A shell starts background jobs with this signal ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_records(folder: Path, count: int, timeout: float = 60) -> None:
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        if sum(f.read_bytes().count(b"\n") for f in (folder / "out").glob("records-*.jsonl")) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"no {count} records within {timeout} s")


def resume(folder: Path, *options: str) -> tuple[int, str]:
    run = start(folder, "--hush-resume", *options, slow="0")
    output, _ = run.communicate(timeout=120)
    return run.returncode, output.decode()


def calls(folder: Path) -> int:
    return len((folder / "calls.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_kill_9_keeps_what_is_finished_and_resume_completes_it(folder: Path) -> None:
    run = start(folder)
    wait_for_records(folder, 12)
    run.kill()
    run.communicate(timeout=30)
    assert not (folder / "out" / "result.json").exists()
    kept = len(read_lines(folder / "out"))
    started = calls(folder)
    assert 12 <= kept < 80
    code, output = resume(folder)
    assert code == 0, output
    keys = [r["key"] for r in read_lines(folder / "out")]
    assert len(keys) == len(set(keys)) == 80
    # Only what was in flight when the run died is asked again.
    assert calls(folder) - started == 80 - kept
    assert read_result(folder / "out")["status"] == "passed"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_control_c_ends_within_a_second_with_what_is_finished(folder: Path) -> None:
    run = start(folder, slow="0.5")
    wait_for_records(folder, 8)
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=30)
    took = time.monotonic() - began
    text = output.decode()
    assert run.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "No verdict: the run was interrupted." in text
    assert "--hush-resume" in text
    assert "hush::gate" not in text
    # One second on a free machine; the bound leaves room for a loaded one.
    assert took < 5, f"{took:.1f} s"
    code, text = resume(folder)
    assert code == 0, text


@pytest.mark.real
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_worker_never_makes_a_pass(folder: Path) -> None:
    run = start(folder, "-n2", "--max-worker-restart=0")
    wait_for_records(folder, 12)
    workers = [p for p in psutil.Process(run.pid).children(recursive=True) if "python" in p.name()]
    assert len(workers) >= 2
    workers[0].kill()
    output, _ = run.communicate(timeout=120)
    text = output.decode()
    assert run.returncode != 0, text
    kept = read_lines(folder / "out")
    assert len(kept) >= 12
    if (folder / "out" / "result.json").exists():
        assert read_result(folder / "out")["status"] not in ("passed",), text
    code, text = resume(folder, "-n2")
    assert code == 0, text
    assert len({r["key"] for r in read_lines(folder / "out")}) == 80


@pytest.mark.real
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_replaced_worker_still_gives_no_pass_on_lost_cases(folder: Path) -> None:
    run = start(folder, "-n2")
    wait_for_records(folder, 12)
    workers = [p for p in psutil.Process(run.pid).children(recursive=True) if "python" in p.name()]
    workers[0].kill()
    output, _ = run.communicate(timeout=120)
    text = output.decode()
    assert run.returncode == 1, text
    found = {r["key"] for r in read_lines(folder / "out")}
    result = read_result(folder / "out")
    if len(found) < 80:
        assert result["status"] == "invalid", text


@pytest.mark.real
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_a_second_session_in_the_folder_of_a_live_one_is_refused(folder: Path, workers: tuple[str, ...]) -> None:
    run = start(folder, *workers, slow="4")
    wait_for_records(folder, 4)
    for options in ((), ("--hush-resume",)):
        other = start(folder, *options, slow="0")
        text = other.communicate(timeout=60)[0].decode()
        assert other.returncode == pytest.ExitCode.USAGE_ERROR, text
        assert "out: another session is measuring into this run folder" in text
        assert f"process {run.pid}" in text
    os.killpg(run.pid, signal.SIGKILL)  # the group of this run alone: see `start`
    run.communicate(timeout=30)
    assert [p.name for p in folder.glob("out*")] == ["out"]
    hold(folder / "out")()
