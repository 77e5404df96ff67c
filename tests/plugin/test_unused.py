"""Installed but unused, the plugin costs next to nothing and leaves no trace."""

from __future__ import annotations

import sys

import pytest

HEAVY = (
    "numpy",
    "scipy",
    "pydantic",
    "rich",
    "click",
    "stamina",
    "openai",
    "anthropic",
    "httpx2",
    "onnxruntime",
    "aiohttp",
)

PROBE = f"""
import sys

def test_trivial():
    loaded = sorted(set(sys.modules) & set({HEAVY!r}))
    ours = sorted(m for m in sys.modules if m.startswith("pytest_hush"))
    assert not loaded, loaded
    assert not {{"pytest_hush.run", "pytest_hush.packs", "pytest_hush.model"}} & set(ours), ours
"""

TRAP = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("a socket was opened")
socket.socket.connect = refuse
socket.socket.bind = refuse
"""


def test_no_heavy_import_no_file_no_socket_no_output(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other libraries bring plugins of their own, and these import what they like.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(PROBE)
    pytester.makeconftest(TRAP)
    before = {p.name for p in pytester.path.iterdir()}
    result = pytester.runpytest_subprocess("-p", "hush", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert not [line for line in result.outlines if "hush" in line and not line.startswith("plugins:")]
    new = {p.name for p in pytester.path.iterdir()} - before
    assert {name for name in new if not name.startswith("runpytest-")} <= {"__pycache__", "stdout", "stderr"}


def test_importing_the_package_costs_the_standard_library_only(pytester: pytest.Pytester) -> None:
    code = (
        "import sys; before = set(sys.modules); import pytest_hush; "
        "own = set(sys.stdlib_module_names) | {'pytest_hush'}; "
        "extra = {m.partition('.')[0] for m in set(sys.modules) - before} - own; assert not extra, extra"
    )
    result = pytester.run(sys.executable, "-c", code)
    assert result.ret == 0, result.stderr.str()


@pytest.mark.parametrize("mode", [pytest.param("strict", marks=pytest.mark.real), "auto"])
def test_beside_pytest_asyncio(pytester: pytest.Pytester, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    pytester.makepyfile(
        """
        import asyncio, pytest

        @pytest.mark.asyncio
        async def test_loop(): await asyncio.sleep(0)

        def test_hush(hush_record): assert hush_record.measured
        """
    )
    result = pytester.runpytest_subprocess(
        "test_beside_pytest_asyncio.py",
        "hush",
        "--hush-model=parrot/0",
        "--hush-memory=oracle",
        "--hush-sample=40",
        "--hush-out=out",
        "-p",
        "no:xdist",
        "-o",
        f"asyncio_mode={mode}",
        timeout=120,
    )
    assert result.ret == 0, result.stdout.str()
