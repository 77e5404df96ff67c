"""What would make a run pointless and is known before its first call: said then, as a usage error, not after it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import HushError, UsageError

if TYPE_CHECKING:
    from pytest_hush.plan import Plan
    from pytest_hush.plugin.options import Options
    from pytest_hush.thresholds import Thresholds


def refuse_aliases(models: Mapping[str, object]) -> None:
    """Raise `UsageError` where two names are one generator: it would be measured twice and count as two."""
    seen: dict[tuple[object, ...], str] = {}
    for name, model in models.items():
        same = getattr(model, "answers_as", None)
        if not isinstance(same, tuple):
            continue
        first = seen.setdefault(same, name)
        if first != name:
            raise UsageError(
                f"--hush-model={name}: it is the same generator as {first}, which is named too, and would count as a "
                f"second one. Name it once; --hush-repeats measures each case several times."
            )


def gate_names(thresholds: Thresholds, plan: Plan, hook: Any, answers: Callable[[str], object]) -> list[str]:
    """Sentences on names in gates that no condition can have. `answers` asks the hooks for a memory of that name."""
    from pytest_hush.gate.names import unknown_names
    from pytest_hush.plugin import builtin

    others = any(found.plugin is not builtin for found in hook.pytest_hush_memory.get_hookimpls())

    def registered(name: str) -> bool:
        try:
            return answers(name) is not None
        except HushError:
            return False

    return unknown_names(thresholds, plan, registered if others else None)


def refuse_unjudgeable(thresholds: Thresholds, plan: Plan, options: Options, given: Collection[str]) -> None:
    """Raise `UsageError` where no gate that counts can be judged, whatever is measured, and that was not allowed.

    A shard is exempt: it is judged with the others, by the file that is named then.
    """
    from pytest_hush.gate.names import nothing_to_judge

    if options.allow_no_verdict or options.shard:
        return
    if nothing := nothing_to_judge(thresholds, plan, given):
        raise UsageError(
            f"{nothing} Name conditions that its gates match (--hush-memory), name another gate file, or pass "
            f"--hush-allow-no-verdict when no verdict is what you want."
        )


def check_place(page: Path) -> None:
    """Raise `UsageError` where ``--hush-report`` could not be written when everything is measured.

    A file is made and removed in the nearest folder that is there: rights alone do not tell.
    """
    folder = page.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"--hush-report={page}: it cannot be written: {folder}: {error.strerror}. Give another file."
        ) from error
