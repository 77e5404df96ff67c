"""How often each judge is asked about one reply."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_hush.protocols import Judge


def draws(judges: Sequence[Judge], repeats: int) -> tuple[tuple[Judge, int], ...]:
    """Every judge with the number of the draw, in order: `repeats` draws of one that may answer otherwise each time.

    A judge that offers ``drawn(n)`` is asked through what that gives, so that its prompts are told apart.
    """
    found: list[tuple[Judge, int]] = []
    for judge in judges:
        found.append((judge, 0))
        if varies(judge):
            drawn = getattr(judge, "drawn", None)
            found += [(drawn(n) if callable(drawn) else judge, n) for n in range(1, repeats)]
    return tuple(found)


def varies(judge: Judge | None) -> bool:
    """True for a judge that may answer otherwise at a second try: by its own word, else where it asks a model."""
    declared = getattr(judge, "deterministic", None)
    if declared is not None:
        return not declared
    return callable(getattr(getattr(judge, "model", None), "reply", None))
