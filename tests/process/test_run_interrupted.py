"""A run that is killed or interrupted keeps what it finished, and its resume repeats nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_hush.run import Engine
from pytest_hush.store import Cache, RunFolder

from ..unit.run.standins import Scripted, pipeline_of, plan_of

ROOT = Path(__file__).resolve().parents[2]
PLAN = plan_of("recall,full-context", personas=4)
CODE = """
import sys
from pathlib import Path
from pytest_hush.run import Engine
from pytest_hush.store import Cache, RunFolder
from tests.process.test_run_interrupted import PLAN
from tests.unit.run.standins import Scripted, Sleeper, pipeline_of

home, slow = Path(sys.argv[1]), sys.argv[2] == "sleep"
run = RunFolder.create(home / "run", {"plan_hash": PLAN.hash})
model = Sleeper(60) if slow else Scripted(delay_s=0.05)
engine = Engine(pipeline_of(PLAN, model, cache=Cache(home / "cache")), run.log("main"))
for case in PLAN.cases:
    engine.submit(case)
print("started", flush=True)
try:
    for case in PLAN.cases:
        engine.result(case)
        print("done", flush=True)
except KeyboardInterrupt:
    engine.close()
    sys.exit(130)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def start(home: Path, mode: str = "work") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(home), mode],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with this signal ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def test_a_killed_run_is_finished_by_its_resume(tmp_path: Path) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    for _ in range(4):
        process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    run = RunFolder.resume(tmp_path / "run", {"plan_hash": PLAN.hash})
    kept = run.records()
    assert 4 <= len(kept) < len(PLAN.cases)
    (torn,) = run.path.glob("records-*.jsonl")
    with torn.open("ab") as file:  # as if it had died within a write
        file.write(b'{"key":"torn","plan_ha')
    assert run.records() == kept
    model = Scripted(delay_s=0.0)
    cache = Cache(tmp_path / "cache")
    log = run.log("main")
    with Engine(pipeline_of(PLAN, model, cache=cache), log, ready=kept) as engine:
        for case in PLAN.cases:
            engine.submit(case)
        engine.drain()
    log.close()
    cache.close()
    final = run.records()
    assert len(final) == len(PLAN.cases)
    assert {r.status for r in final} == {"ok"}
    assert [r for r in final if r.key in {k.key for k in kept}] == kept
    distinct = {r.reply for r in final} - {r.reply for r in kept}
    assert model.calls <= len(distinct)


@pytest.mark.parametrize("mode", ["work", "sleep"])
def test_ctrl_c_ends_soon(tmp_path: Path, mode: str) -> None:
    process = start(tmp_path, mode)
    assert process.stdout is not None
    if mode == "work":
        process.stdout.readline()
    time.sleep(0.2)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    # By its own handler, or by the signal itself where that came while the handler was leaving: a shell shows 130.
    assert process.wait(10) in (130, -signal.SIGINT)
    # A run ends within a second; a loaded machine takes its time for the interpreter's own end on top of it.
    assert time.monotonic() - started < 5.0
    process.stdout.close()
    records = RunFolder.open(tmp_path / "run").records()
    assert len(records) > 0 if mode == "work" else records == []
