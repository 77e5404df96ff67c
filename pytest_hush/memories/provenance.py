"""Which sessions an entry of a store derives from, learned by comparing the store before and after each ingest.

Memory systems rewrite and merge entries, and their own metadata then names the last session only. The ledger
keeps the union: an entry touched while a session was ingested counts as derived from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_hush.errors import StoreError

_SCHEMA: Final = 1


class Ledger:
    """Entry id -> the session ids that it derives from. Not thread-safe: one ledger belongs to one store."""

    def __init__(self) -> None:
        self._sources: dict[str, frozenset[str]] = {}

    def update(
        self,
        before: Mapping[str, str],
        after: Mapping[str, str],
        source: str,
        *,
        derived: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """Account for the ingest of session `source`; `before` and `after` map entry ids to all of their text.

        A new entry derives from `source`; a changed one also from `source`; an unchanged one stays as it is; a
        deleted one is forgotten. `derived` names, for an entry that the system built out of older ones (a
        merge, a summary), their ids: it inherits their sources. An entry of `before` that the ledger never
        saw, or an unknown id in `derived`, raises `StoreError`: its provenance would be a guess.
        """
        unseen = sorted(before.keys() - self._sources.keys())
        if unseen:
            raise StoreError(
                f"The store holds entry {unseen[0]!r} (and {len(unseen) - 1} more) that its ledger never saw before "
                f"session {source!r}. The ledger must be updated after every ingest; build the store anew."
            )
        sources: dict[str, frozenset[str]] = {}
        for entry, text in after.items():
            known = self._sources[entry] if entry in before else frozenset[str]()
            parents = list((derived or {}).get(entry, ()))
            for parent in parents:
                if parent not in self._sources:
                    raise StoreError(f"Entry {entry!r} is said to derive from {parent!r}, which the ledger never saw.")
                known |= self._sources[parent]
            touched = bool(parents) or entry not in before or before[entry] != text
            sources[entry] = known | {source} if touched else known
        self._sources = sources

    def sources(self, entry: str) -> tuple[str, ...] | None:
        """The session ids of `entry`, sorted; None when the ledger does not know it."""
        found = self._sources.get(entry)
        return None if found is None else tuple(sorted(found))

    def of(self, session: str) -> int:
        """How many entries derive from `session`."""
        return sum(session in found for found in self._sources.values())

    def __len__(self) -> int:
        return len(self._sources)

    def copy(self) -> Ledger:
        """An independent ledger for a fork of the store."""
        fork = Ledger()
        fork._sources = dict(self._sources)
        return fork

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data, sorted: equal ledgers give equal bytes."""
        return {"schema": _SCHEMA, "entries": {entry: sorted(self._sources[entry]) for entry in sorted(self._sources)}}

    @classmethod
    def from_json(cls, data: object) -> Ledger:
        """The ledger that `to_json` wrote. Raises `StoreError` on anything else."""
        entries = data.get("entries") if isinstance(data, dict) and data.get("schema") == _SCHEMA else None
        ledger = cls()
        if isinstance(entries, dict):
            for entry, sources in entries.items():
                if not isinstance(sources, list) or not all(isinstance(s, str) for s in sources):
                    break
                ledger._sources[str(entry)] = frozenset(sources)
            else:
                return ledger
        raise StoreError(
            f'A provenance ledger cannot be read: expected {{"schema": {_SCHEMA}, "entries": {{id: [session ids]}}}}. '
            f"Remove the store that it belongs to; it is built anew."
        )
