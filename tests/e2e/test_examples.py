"""The examples run as their own README files say, each from a copy of its folder. No key, no network.

Each loads embeddings and judges 80 replies, so all but one are marked `real`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_hush.bundled import bundled
from tests.conftest import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
SMALL = ("--hush-sample=40", "--hush-out=out", "-q", "-p", "no:cacheprovider")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PYTEST_ADDOPTS")

pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="examples/ is not beside these tests (an installed wheel has none)"
)


def copy(name: str, folder: Path) -> Path:
    target = folder / name
    shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns("__pycache__", ".hush", ".pytest_cache"))
    return target


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in KEYS and not k.startswith("PYTEST_XDIST")}
    # The `pytest` that a shell finds is that of the interpreter which runs this test.
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | {"PATH": path} | variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One cache for all examples and xdist workers: the starter pack is embedded once."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    return f"--hush-cache={shared / 'examples-cache' / 'cache.sqlite'}"


def hush(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return run(folder, sys.executable, "-m", "pytest", *args, *SMALL)


def result(file: Path) -> dict[str, Any]:
    """The result in `file`, held against its schema."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    schema = json.loads(bundled("schemas", "result.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)
    return data


def uis(data: dict[str, Any], condition: str) -> float:
    return next(
        e["value"] for e in data["estimates"] if (e["condition"], e["metric"], e["stratum"]) == (condition, "uis", "")
    )


@pytest.mark.real
def test_own_assistant(tmp_path: Path, cache: str) -> None:
    folder = copy("own_assistant", tmp_path)
    done = hush(folder, "--hush-model=custom", "--hush-memory=assistant", cache)
    assert done.returncode == 0, done.stdout + done.stderr
    data = result(folder / "out" / "result.json")
    assert data["status"] == "passed"
    assert data["plan"]["conditions"] == ["none", "assistant"]
    exposure = [e for e in data["estimates"] if e["metric"] == "exposure" and e["condition"] == "assistant"]
    assert [e["value"] for e in exposure] == [None]


@pytest.mark.real
def test_own_assistant_that_talks_breaks_the_rule_of_its_product(tmp_path: Path, cache: str) -> None:
    folder = copy("own_assistant", tmp_path)
    source = (folder / "notebook.py").read_text(encoding="utf-8")
    assert "if ASKED.match(message):" in source
    (folder / "notebook.py").write_text(source.replace("if ASKED.match(message):", "if sessions:"), encoding="utf-8")
    done = hush(folder, "--hush-model=custom", "--hush-memory=assistant", cache)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED test_own_assistant.py::test_the_disclosure_is_never_stated" in done.stdout
    data = result(folder / "out" / "result.json")
    assert uis(data, "none") < uis(data, "assistant")


@pytest.mark.real
def test_own_memory(tmp_path: Path, cache: str) -> None:
    folder = copy("own_memory", tmp_path)
    done = hush(folder, "--hush-model=parrot/0", "--hush-memory=keyword", cache)
    assert done.returncode == 0, done.stdout + done.stderr
    data = result(folder / "out" / "result.json")
    assert data["status"] == "passed"
    keyword = next(c for c in data["positive_controls"] if c["condition"] == "keyword")
    assert keyword["retrieved"] > 0.8 * keyword["planned"]
    arm = next(a for a in data["arms"] if a["condition"] == "keyword")
    assert arm["statuses"] == {"ok": 40}
    assert arm["subject"]["settings"]["memory"] == {"top_k": 5, "k1": 1.2, "b": 0.75}


@pytest.mark.skipif(shutil.which("bash") is None, reason="the script needs bash")
@pytest.mark.real
@pytest.mark.parametrize(("model", "code"), [("parrot/0", 0), ("parrot/1", 1)])
def test_ci(tmp_path: Path, cache: str, model: str, code: int) -> None:
    folder = copy("ci", tmp_path)
    done = run(folder, "./gate.sh", MODEL=model, MEMORY="oracle", HUSH_ARGS=f"--hush-sample=40 -q {cache}")
    assert done.returncode == code, done.stdout + done.stderr
    data = result(folder / "hush-run.json")
    assert (data["exit_code"], data["thresholds"]["name"]) == (code, "example-ci")
    assert 'name="gate[uis-' in (folder / "hush-run.xml").read_text(encoding="utf-8")
