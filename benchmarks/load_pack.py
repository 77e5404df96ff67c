"""How long it takes to read and validate a whole pack: ``python benchmarks/load_pack.py [PACK]``.

Prints the seconds of the first and of later loads in one process, beside reading the same bytes and parsing the same
JSON with the standard library, and the ratios.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 5


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parse(folder: Path) -> int:
    """The pack's JSON parsed by the standard library: what no reader can be faster than by much."""
    count = 0
    for path in sorted(folder.rglob("*.json*")):
        text = path.read_text(encoding="utf-8")
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(part)
            count += 1
    return count


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "hush-en-1"
    imported = seconds(lambda: __import__("pytest_hush.packs"))
    from pytest_hush.packs import find_pack, load_pack

    folder = find_pack(name)
    first = seconds(lambda: load_pack(name))
    later = statistics.median(seconds(lambda: load_pack(name)) for _ in range(ROUNDS))
    plain = statistics.median(seconds(lambda: parse(folder)) for _ in range(ROUNDS))
    pack = load_pack(name)
    print(f"{pack.name} {pack.version}: {len(pack.probes)} probes, {len(pack.disclosures)} disclosures")
    print(f"import {imported:.2f} s; first load {first:.2f} s; later loads {later:.2f} s (median of {ROUNDS})")
    print(f"parsing the same JSON alone {plain:.2f} s: loading and validating takes {later / plain:.1f} times as long")


if __name__ == "__main__":
    main()
