"""How many replies does the embedded judge score in a second, and how long would 48,000 take?

    python benchmarks/judge.py [--replies N] [--seed N]

Takes N replies (400) of the bundled labelled set, in an order drawn by the seed, and judges them twice in one process:
first with empty caches, then again, when every sentence's vector is known (what a second look at the same run costs).
Prints replies and sentences a second, the share of the time that embedding takes, and 48,000 replies at that rate on
one core. No target: the figure is for planning.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path
from typing import Any, Final

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
sys.path[0:1] = [str(Path(__file__).resolve().parent.parent)]

from pytest_hush.embed import default_embedder  # noqa: E402
from pytest_hush.judges.embedded import EmbeddedJudge  # noqa: E402
from pytest_hush.judges.labelled_views import labelled_views  # noqa: E402
from pytest_hush.judges.labels import whole  # noqa: E402
from pytest_hush.judges.reading import sentences  # noqa: E402
from pytest_hush.packs import load_pack  # noqa: E402

FULL: Final = 48_000
"""Replies of the paper's whole matrix."""


class Counting:
    """An embedder that keeps the time that its texts take."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.name, self.version = inner, inner.name, getattr(inner, "version", "")
        self.seconds = 0.0
        self.known: dict[str, Any] = {}

    def embed(self, texts: Any) -> Any:
        import numpy as np

        new = list(dict.fromkeys(t for t in texts if t not in self.known))
        if new:
            started = time.process_time()
            vectors = self.inner.embed(new)
            self.seconds += time.process_time() - started
            self.known.update(zip(new, vectors, strict=True))
        return np.stack([self.known[t] for t in texts])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    views = [v.view for v in labelled_views(whole("labels-en-1"), load_pack)]
    random.Random(options.seed).shuffle(views)
    views = views[: options.replies]
    count = sum(len(sentences(v.reply)) for v in views)
    embedder = Counting(default_embedder())
    judge = EmbeddedJudge(lambda: embedder)
    judge.judge(views[0])  # loads the weights, word lists and the model
    embedder.known.clear()
    print(f"{len(views)} replies, {count} sentences; processor seconds on one core")
    print(f"{'':14}{'seconds':>9}{'replies/s':>11}{'sentences/s':>13}{'embedding':>11}{f'{FULL:,}':>12}")
    for name in ("new text", "known text"):
        embedder.seconds, started = 0.0, time.process_time()
        for view in views:
            judge.judge(view)
        spent = time.process_time() - started
        hours = FULL / len(views) * spent / 3600
        print(
            f"{name:14}{spent:9.1f}{len(views) / spent:11.1f}{count / spent:13.1f}{embedder.seconds / spent:11.0%}"
            f"{hours:10.2f} h"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
