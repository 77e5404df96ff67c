"""What a store for each planted session costs, and whether many of them leave anything behind.

    python benchmarks/forks.py [--forks N] [--pack NAME] [--systems mem0,a-mem,memu]

The store is that of one persona of the pack, in the mode without a model. The steps of a fork (copying the base,
opening it, adding the planted session, a search, closing) are timed apart, as medians; adding and searching include the
embedding of texts that are new. Then N forks are made and asked as a run does it, each with another disclosure, with
open files, threads, memory and disk counted on the way, and once more when all are closed and free memory was given
back to the system. Systems whose library is not installed are named and skipped.
On a busy machine only the processor's seconds mean something.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

import psutil

from pytest_hush.embed.minilm import MiniLM
from pytest_hush.errors import MissingExtraError
from pytest_hush.memories.stores.backend import Backend
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import Base, Bases
from pytest_hush.memories.stores.ingest import close_store, ingest, open_store, snapshot
from pytest_hush.memories.stores.registry import SYSTEMS, Parts, resolve_store
from pytest_hush.memories.stores.threads import in_thread
from pytest_hush.model import Disclosure, History, Pack
from pytest_hush.packs import load_pack, plant
from pytest_hush.protocols import Embedder

STEPS = ("copy", "open", "add", "search", "close")
TIMED = 20
WARM = 40
"""Forks after which a run holds as many open ones as it ever does, and every library is loaded."""
LOOKS = 5
T = TypeVar("T")


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def size(folder: Path) -> int:
    """Bytes of all files under `folder`; one that is removed meanwhile counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def trim() -> None:
    """Let glibc give back to the system what is free: with many threads it keeps hundreds of MB that nobody uses."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)


class Stopwatch:
    """Milliseconds by the name of the step: of the clock, and of processor time in all threads."""

    def __init__(self) -> None:
        self.times: dict[str, list[tuple[float, float]]] = {}

    def __call__(self, step: str, work: Callable[[], T]) -> T:
        start, used = time.perf_counter(), cpu()
        made = work()
        spent = (1000 * (time.perf_counter() - start), 1000 * (cpu() - used))
        self.times.setdefault(step, []).append(spent)
        return made

    def median(self, step: str) -> str:
        clock, processor = (statistics.median(kind) for kind in zip(*self.times[step], strict=True))
        return f"{clock:.1f} ({processor:.1f})"


def histories(pack: Pack, count: int) -> Iterator[History]:
    """The first persona's history with one disclosure of the pack after the other, whosever it is."""
    persona = pack.personas[0]
    for number in range(count):
        told = pack.disclosures[number % len(pack.disclosures)]
        yield plant(pack, named(told, persona.id, f"x{number}-{told.id}"))


def named(told: Disclosure, persona: str, name: str) -> Disclosure:
    return replace(told, id=name, persona=persona, session_id=f"{name}-s")


def fork(base: Base, backend: Backend, history: History, folder: Path, timed: Stopwatch) -> None:
    """One fork, step by step, with a session that was never embedded before."""
    told = history.disclosure
    assert told is not None
    planted = [session for session in history.sessions if session.id == history.planted]
    timed("copy", lambda: base.copy_to(folder))
    store = timed("open", lambda: open_store(backend, folder, None))
    before = snapshot(backend, store)
    timed("add", lambda: ingest(backend, store, planted, history.persona, base.ledger.copy(), before, None))
    timed("search", lambda: store.search(told.question, 5))
    timed("close", lambda: close_store(backend, store))
    shutil.rmtree(folder)


def steps(memory: StoreMemory, folder: Path, pack: Pack) -> tuple[Base, Stopwatch]:
    """The base of the first persona's background, and how long it and the steps of `TIMED` forks took."""
    backend, timed = memory.backend, Stopwatch()
    persona = pack.personas[0]
    bases = Bases(lambda: folder / backend.name, backend, memory.settings)
    base = timed("base", lambda: bases.get(persona.sessions, persona, None))
    for number, history in enumerate(histories(pack, TIMED)):
        fork(base, backend, history, folder / f"timed-{number}", timed)
    return base, timed


def many(memory: StoreMemory, folder: Path, pack: Pack, count: int) -> None:
    """`count` forks as a run makes them, with what the process holds on the way and after they are closed."""
    process = psutil.Process()

    def look(made: str) -> None:
        gc.collect()
        rss, disk = process.memory_info().rss / 1e6, size(folder / "forks") / 1e6
        print(f"  {made:>12} {process.num_fds():6} {process.num_threads():8} {rss:8.0f} {disk:10.1f}")

    print(f"  {'forks':>12} {'files':>6} {'threads':>8} {'RSS, MB':>8} {'disk, MB':>10}")
    look("0")
    started, used = time.perf_counter(), cpu()
    held: list[bool] = []
    stops = {WARM, *(count * i // LOOKS for i in range(1, LOOKS + 1))}

    async def ask_all() -> None:
        for number, history in enumerate(histories(pack, count), start=1):
            assert history.disclosure is not None
            found = await memory.context(history, history.disclosure.question)
            held.append(any(history.planted in (entry.sources or ()) for entry in found.entries))
            if number in stops:
                look(str(number))
        await memory.close()

    asyncio.run(ask_all())
    look("closed")
    trim()
    look("given back")
    wall, work = time.perf_counter() - started, cpu() - used
    print(
        f"  {count} forks: {wall:.1f} s, {1000 * wall / count:.0f} ms each ({1000 * work / count:.0f} ms of processor "
        f"time); {size(folder / 'forks')} bytes of forks are left; {sum(held)} plants were found by their questions"
    )


def measure(name: str, pack: Pack, count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="hush-forks-") as place:
        folder = Path(place)
        embedder = MiniLM()  # of its own, so that no system finds the vectors of the one before
        try:
            memory = resolve_store(name, Parts({}, lambda: cast(Embedder, embedder), folder))
        except MissingExtraError as missing:
            print(f"\n{name}: skipped. {missing}")
            return
        # In a thread such as a run uses, where the libraries' logs are quiet.
        base, timed = asyncio.run(in_thread(lambda: steps(memory, folder, pack)))
        sessions = pack.personas[0].sessions
        print(
            f"\n{memory.backend.label}, {memory.version}\n  base: {len(sessions)} sessions, "
            f"{sum(len(session.turns) for session in sessions)} turns, {len(base.ledger)} entries, "
            f"{size(base.folder) / 1e6:.1f} MB"
        )
        print(f"  ms of the clock (of processor time), medians of {TIMED}:")
        print("  " + ", ".join(f"{step} {timed.median(step)}" for step in ("base", *STEPS)))
        many(memory, folder, pack, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forks", type=int, default=600)
    parser.add_argument("--pack", default="hush-en-1")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    options = parser.parse_args()
    pack = load_pack(options.pack)
    for name in options.systems.split(","):
        measure(name, pack, options.forks)


if __name__ == "__main__":
    main()
