"""Which commit of the project that runs was measured: asked of git, else taken from the CI server's variable."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypedDict

VARIABLES: Final = ("GITHUB_SHA", "CI_COMMIT_SHA")
"""Of GitHub Actions and of GitLab; read where git cannot say."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LIMIT_S: Final = 5.0


class Revision(TypedDict):
    """`commit`: 40 or 64 hex digits, '' where nobody knows. `dirty`: whether tracked files differ from it, or None."""

    commit: str
    dirty: bool | None


NOBODY_KNOWS: Final[Revision] = {"commit": "", "dirty": None}


def revision_of(folder: Path, environ: Mapping[str, str] = os.environ) -> Revision:
    """The commit that is checked out in `folder`. Never raises and writes nothing; waits 10 s at most."""
    said = _git(folder, "rev-parse", "--verify", "HEAD")
    if said is not None and _COMMIT.fullmatch(said):
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
        return {"commit": said, "dirty": None if changed is None else bool(changed)}
    named = next((environ[name].strip().lower() for name in VARIABLES if environ.get(name)), "")
    return {"commit": named if _COMMIT.fullmatch(named) else "", "dirty": None}


def revision_from(value: Any) -> Revision:
    """`value` of a manifest or a saved baseline as a revision; what is none of its parts is unknown."""
    if not isinstance(value, Mapping):
        return NOBODY_KNOWS
    commit, dirty = value.get("commit"), value.get("dirty")
    known = isinstance(commit, str) and _COMMIT.fullmatch(commit)
    return {"commit": str(commit) if known else "", "dirty": dirty if known and isinstance(dirty, bool) else None}


def revision_text(revision: Revision) -> str:
    """``1a2b3c4d5e6f``, with a word where files differed from the commit; '' where none is known."""
    return revision["commit"][:12] + (" with uncommitted changes" if revision["commit"] and revision["dirty"] else "")


def _git(folder: Path, *words: str) -> str | None:
    """What git prints, without blanks around it; None where there is no git, no repository, or no answer in time."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT_S,
            stdin=subprocess.DEVNULL,
            # Without a lock `status` only looks: another git command at the same time is not disturbed.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
