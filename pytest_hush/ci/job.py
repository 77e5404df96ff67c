"""The job that this process is a step of, as GitHub Actions tells it in the environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import UsageError

TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


def repository(given: str = "", environ: Mapping[str, str] = os.environ) -> str:
    """``owner/name``: the one given, else the job's. Raises `UsageError`."""
    found = given or environ.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(found) or ".." in found:
        raise UsageError(f"--repo={found!r}: expected owner/name, or GITHUB_REPOSITORY in the environment.")
    return found


def token(environ: Mapping[str, str] = os.environ) -> str:
    """The job's token. Raises `UsageError` where there is none."""
    found = next((environ[name].strip() for name in TOKENS if environ.get(name, "").strip()), "")
    if not found:
        raise UsageError(
            f"No token: expected {' or '.join(TOKENS)} in the environment. In a workflow give the step "
            "`env: {GITHUB_TOKEN: ${{ github.token }}}`."
        )
    return found


def event(environ: Mapping[str, str] = os.environ) -> Mapping[str, Any]:
    """What started the workflow, as the file that GITHUB_EVENT_PATH names tells it. Raises `UsageError`."""
    named = environ.get("GITHUB_EVENT_PATH", "")
    if not named:
        raise UsageError("GITHUB_EVENT_PATH is not set: name the pull request with --pr.")
    try:
        found = json.loads(Path(named).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH={named}: it cannot be read ({error}).") from None
    if not isinstance(found, dict):
        raise UsageError(f"GITHUB_EVENT_PATH={named}: expected a JSON object.")
    return found


def part(value: Any, *names: str) -> Any:
    """What stands under `names` in nested objects; None where anything on the way is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def workflow_file(given: str = "", environ: Mapping[str, str] = os.environ) -> str:
    """File name of the workflow that the job belongs to (of the caller, in a reusable one). Raises `UsageError`."""
    reference = environ.get("GITHUB_WORKFLOW_REF", "").partition("@")[0]
    found = given or reference.rpartition("/")[2]
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", found):
        raise UsageError(f"--workflow={found!r}: expected the file name of a workflow, such as gate.yml.")
    return found


def set_outputs(values: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
    """Append ``name=value`` lines to the file that GITHUB_OUTPUT names; nothing where none is named."""
    path = environ.get("GITHUB_OUTPUT", "")
    if not path:
        return
    if bad := [v for v in values.values() if "\n" in v or "\r" in v]:
        raise UsageError(f"An output of the step holds a line break: {bad[0]!r:.60}.")
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in values.items())
    except OSError as error:
        raise UsageError(f"GITHUB_OUTPUT={path}: it cannot be written: {error.strerror}.") from error


def add_summary(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Append `text` to the job's step summary, where there is one. Returns what went wrong, or ''."""
    path = environ.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return ""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"The step summary {path} cannot be written: {error.strerror}. The verdicts stand."
    return ""
