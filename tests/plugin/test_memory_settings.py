"""Tables of pyproject.toml and the extraction model: how a memory system is set up, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.plugin.builtin import MEMORY_MODEL, _memory_model
from pytest_hush.plugin.memory_settings import read_memory_settings
from pytest_hush.plugin.options import Options
from tests.plugin.conftest import Run

KNOWN = ("none", "vector", "mem0", "full-context")


def read(folder: Path, text: str) -> dict[str, object]:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return dict(read_memory_settings(folder, KNOWN))


def test_tables_by_name(tmp_path: Path) -> None:
    assert read_memory_settings(tmp_path, KNOWN) == {}
    assert read(tmp_path, "[project]\nname = 'x'\n") == {}
    text = "[tool.pytest_hush.memory.mem0]\ntop_k = 3\n[tool.pytest_hush.memory.\"python:my:Store\"]\npath = 'x'\n"
    assert read(tmp_path, text) == {"mem0": {"top_k": 3}, "python:my:Store": {"path": "x"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.pytest_hush.memory.mem00]\n", r"memory.mem00\]: there is no memory 'mem00' \(did you mean mem0\?\)"),
        ("[tool.pytest_hush.memory.Vector]\n", r"did you mean vector\?"),
        ("[tool.pytest_hush.memories.mem0]\n", r"\[tool.pytest_hush\] has no 'memories'"),
        ("[tool.pytest_hush.memory]\nmem0 = 5\n", r"tool.pytest_hush.memory.mem0 = 5: expected a table"),
        ("[tool]\npytest_hush = 1\n", r"tool.pytest_hush = 1: expected a table"),
        ("not toml", "cannot be read for"),
    ],
)
def test_a_wrong_table_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, text)


def test_a_table_reaches_the_memory(refuse: Run, project: pytest.Pytester) -> None:
    for module in ("mem0", "faiss"):
        pytest.importorskip(module, reason=f"{module} is not installed (extra 'mem0')")
    project.makepyprojecttoml("[tool.pytest.ini_options]\n[tool.pytest_hush.memory.mem0]\ntop_k = 9\n")
    result = refuse("--hush-model=parrot/0", "--hush-memory=mem0", "--hush-sample=40")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*mem0.top_k = 9: expected a whole number from 1 to 5*"])


def test_an_unknown_extraction_model_is_refused(refuse: Run) -> None:
    for module in ("mem0", "faiss"):
        pytest.importorskip(module, reason=f"{module} is not installed (extra 'mem0')")
    result = refuse("--hush-model=parrot/0", "--hush-memory=mem0", "--hush-memory-model=opnai/x", "--hush-sample=40")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*opnai*"])


class Real:
    demonstration = False


class Demonstration:
    demonstration = True


@pytest.mark.parametrize(
    ("named", "key", "models", "expected"),
    [
        ("local", "", (Demonstration,), "local"),
        ("", "sk-0123456789", (Real,), MEMORY_MODEL),
        ("", "", (Real,), ""),
        ("", "sk-0123456789", (Real, Demonstration), ""),
        ("", "sk-0123456789", (), ""),
    ],
)
def test_the_default_extraction_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, key: str, models: tuple[type, ...], expected: str
) -> None:
    """A demonstration run stays free of paid calls even on a machine that has a key."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    options = Options(rootpath=tmp_path, memory_model=named)
    made = _memory_model(options, {str(i): m() for i, m in enumerate(models)})
    assert (made.args[0] if made is not None else "") == expected  # type: ignore[attr-defined]
