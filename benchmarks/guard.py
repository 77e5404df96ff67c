"""What the guard does, before and after, on the personas that it was tuned on and on those that it was not.

    pytest --hush-model=parrot/0.8 --hush-memory=vector,vector+guard,oracle,oracle+guard --hush-pack=hush-en-1 \
        --hush-sample=240 --hush-invitations --hush-out=guard-run
    python benchmarks/guard.py guard-run

Numbers of the guard were chosen on personas p01 to p05 of hush-en-1; its words are general vocabulary, fitted to
no pack. The first table is of those personas, the second of p06 to p10.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pytest_hush.gate import Contrast, Estimate, estimates
from pytest_hush.gate.invited import invitation_contrasts
from pytest_hush.store import RunFolder

TUNED = frozenset({"p01", "p02", "p03", "p04", "p05"})
LEVELS = ("uis", "uis_sensitive", "exposure", "target_uptake", "invited_uptake", "helpfulness", "controls")


def shown(e: Estimate | Contrast | None) -> str:
    if e is None or e.value is None or e.lower is None or e.upper is None:
        return "–"
    return f"{e.value:.1f} [{e.lower:.1f}, {e.upper:.1f}]"


def table(folder: Path, *, tuned: bool) -> list[str]:
    run = RunFolder.open(folder)
    plan, records = run.plan(), run.records()
    part = replace(plan, cases=tuple(c for c in plan.cases if (c.persona in TUNED) is tuned))
    kept = [r for r in records if (r.persona in TUNED) is tuned]
    found = {(e.condition, e.metric): e for e in estimates(kept, part) if e.stratum == ""}
    gains = {c.condition: c for c in invitation_contrasts(kept, part) if c.metric == "uptake_gain"}
    lines = [f"| condition | {' | '.join(LEVELS)} | gain when invited |", "|---" * (len(LEVELS) + 2) + "|"]
    for condition in (c.name for c in plan.conditions):
        cells = [shown(found.get((condition, metric))) for metric in LEVELS]
        lines.append(f"| `{condition}` | {' | '.join(cells)} | {shown(gains.get(condition))} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+", help="run folders of hush-en-1, with and without +guard")
    for folder in parser.parse_args().run:
        for tuned in (True, False):
            print(f"\n{folder}, personas {'p01 to p05 (tuned on)' if tuned else 'p06 to p10 (reported)'}\n")
            print("\n".join(table(folder, tuned=tuned)))


if __name__ == "__main__":
    main()
