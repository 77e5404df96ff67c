"""What the installed but unused plugin adds to a pytest run of one trivial test.

    python benchmarks/unused.py [runs]

Runs pytest with and without the plugin in turn, in fresh processes, and prints the medians of wall and of processor
time, their ratio and their difference. On a busy machine only the processor time means something.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def once(folder: Path, *extra: str) -> tuple[float, float]:
    """Wall and processor seconds of one pytest process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_trivial.py").write_text("def test_trivial(): pass\n", encoding="utf-8")
        once(folder)
        without, with_plugin = [], []
        for _ in range(runs):
            without.append(once(folder, "-p", "no:hush"))
            with_plugin.append(once(folder))
    for index, kind in enumerate(("wall", "processor")):
        a, b = (statistics.median(run[index] for run in series) for series in (without, with_plugin))
        print(
            f"{kind}: without {a * 1000:.0f} ms, with {b * 1000:.0f} ms: "
            f"x{b / a:.3f}, {1000 * (b - a):+.1f} ms (median of {runs})"
        )


if __name__ == "__main__":
    main()
