"""The history of each case, made once: which sessions its memory has read."""

from __future__ import annotations

from typing import Any

from pytest_hush.model import Case, History, Pack
from pytest_hush.run.rooms import Rooms


class Histories:
    """Histories of one pack. The same object for the same name: what is computed for one is computed once."""

    def __init__(self, pack: Pack, rooms: Rooms) -> None:
        self._pack = pack
        self._rooms = rooms
        self._personas = {p.id: p for p in pack.personas}
        self._disclosures = {d.id: d for d in pack.disclosures}
        self._made: dict[tuple[str, str | None, bool, bool], History] = {}

    def of(self, case: Case) -> History:
        """A probe's history holds its disclosure; a positive control's, nothing that was planted.

        Under ``+shared`` both hold all disclosures of the persona; under ``+revoked`` a probe's holds the withdrawal.
        """
        told = case.disclosure_id if case.kind == "probe" else None
        name = (case.persona, told, case.condition.shared, case.condition.revoked and told is not None)
        return self._made_once(*name)

    def _made_once(self, *name: Any) -> History:
        if name not in self._made:
            self._made[name] = self._make(*name)
        return self._made[name]

    def _make(self, persona: str, told: str | None, shared: bool, revoked: bool) -> History:
        if revoked:
            return self._rooms.revoke(self._made_once(persona, told, shared, False), self._pack.language)
        disclosure = self._disclosures[told] if told else None
        if shared:
            return self._rooms.plant_shared(self._pack, self._personas[persona], disclosure)
        if disclosure is None:
            return self._rooms.background(self._pack, self._personas[persona])
        return self._rooms.plant(self._pack, disclosure)
