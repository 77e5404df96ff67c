"""Gates that say nothing of a plan: names that no condition can have, and files of which no gate can be judged.

A typing mistake in a gate's condition must not switch the gate off: a skipped gate reads as one for another memory.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Final

from pytest_hush.gate.invited import applies, nothing_planned
from pytest_hush.memories.registry import BUILT_IN, MODIFIERS
from pytest_hush.model import Condition
from pytest_hush.plan import Plan
from pytest_hush.thresholds import Thresholds

_WILD: Final = re.compile(r"[*?\[]")
_PYTHON: Final = "python:"
_BASES: Final = tuple(name for name in BUILT_IN if not name.startswith(_PYTHON))


def unknown_names(
    thresholds: Thresholds,
    plan: Plan,
    registered: Callable[[str], bool] | None = None,
) -> list[str]:
    """One sentence for each name in a gate's condition that no condition can have, in the order of the file.

    A gate for a memory that exists and was not planned is none of them. `registered` says whether a hook of others
    answers to a name; None: only the memories of this package are there. With hooks of others a pattern is taken as it
    is, since their names cannot be listed.
    """
    planned = tuple(c.name for c in plan.conditions)
    told = []
    for gate in thresholds.gates:
        for name in (part.strip() for part in gate.condition.split("|")):
            if not name or _known(name, planned, registered):
                continue
            nameable = dict.fromkeys((*planned, *_names()))
            near = difflib.get_close_matches(name.lower(), nameable, n=2, cutoff=0.6)
            hint = f" (did you mean {' or '.join(near)}?)" if near else ""
            kind = "matches no memory" if _WILD.search(name) else "names no memory"
            told.append(
                f"Thresholds {thresholds.label}, gate {gate.id!r}: condition {name!r} {kind}{hint}: none that is "
                f"planned ({', '.join(planned)}), built in ({', '.join(_BASES)}) or registered by a hook. Correct the "
                f"name; a gate for a memory that exists and is not in the plan is skipped."
            )
    return told


def nothing_to_judge(thresholds: Thresholds, plan: Plan, given: Collection[str]) -> str:
    """Why no gate that counts can be judged on `plan`, however the run goes; '' where one can.

    Those that block count; in a file that only warns, all do. `given` are the roles of the runs to compare with.
    """
    counted = [g for g in thresholds.gates if g.severity == "block"] or list(thresholds.gates)
    reasons = []
    for gate in counted:
        if not any(applies(gate, c.name, plan) for c in plan.conditions):
            why = nothing_planned(gate, plan) or f"{gate.condition!r} matches no planned condition"
        elif gate.versus in ("baseline", "anchor") and gate.versus not in given:
            why = f"it compares with the {gate.versus}, and no --hush-{gate.versus} is given"
        else:
            return ""
        reasons.append(f"gate {gate.id!r}: {why.rstrip('.')}")
    planned = ", ".join(c.name for c in plan.conditions)
    more = f"; and {len(reasons) - 3} more" if len(reasons) > 3 else ""
    return (
        f"Thresholds {thresholds.label}: no gate that blocks can be judged on this plan "
        f"({'; '.join(reasons[:3])}{more}); planned are {planned}."
    )


def _known(name: str, planned: Collection[str], registered: Callable[[str], bool] | None) -> bool:
    if not _WILD.search(name):
        condition = Condition.parse(name)
        ours = condition.base in _BASES or condition.base.startswith(_PYTHON)
        if name in planned or (ours and set(condition.modifiers) <= set(MODIFIERS)):
            return True
        return registered is not None and registered(name)
    if registered is not None or any(fnmatchcase(other, name) for other in (*planned, *_names())):
        return True
    # What is left may still mean somebody's own `python:module:attr`, which starts with anything.
    base, *modifiers = name.split("+")
    if any(not _WILD.search(m) and m not in MODIFIERS for m in modifiers):
        return False
    return base.startswith(_PYTHON) or _WILD.match(base) is not None


def _names() -> Iterator[str]:
    """Every name that a built-in condition can have."""
    for base in (*_BASES, f"{_PYTHON}module:attr"):
        for count in range(len(MODIFIERS) + 1):
            for chosen in permutations(MODIFIERS, count):
                yield "+".join((base, *chosen))
