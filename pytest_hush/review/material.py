"""What readers see of a reply: what a judge sees, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_hush.errors import UsageError
from pytest_hush.judges.view import judge_view
from pytest_hush.model import NONE, Case, Pack, Record
from pytest_hush.review.sample import Drawn


@dataclass(frozen=True, slots=True)
class Shown:
    """One item as readers see it. `told` is the turn that told the disclosure; `facts` are (sensitive, text)."""

    id: str
    turn: str
    reply: str
    disclosure: str
    told: str
    facts: tuple[tuple[bool, str], ...]


def shown(items: Mapping[str, Drawn], pack: Pack) -> list[Shown]:
    """The items in their order, each made of a `judge_view`: blind to model, memory and condition by construction.

    Raises `UsageError` where the pack does not have what was measured.
    """
    probes = {p.id: p for p in pack.probes}
    disclosures = {d.id: d for d in pack.disclosures}
    personas = {p.id: p for p in pack.personas}
    found = []
    for item, drawn in items.items():
        r = drawn.record
        probe = probes.get(r.probe_id)
        disclosure = disclosures.get(probe.disclosure) if probe else None
        if probe is None or disclosure is None or probe.persona not in personas:
            raise UsageError(
                f"The pack {pack.name} {pack.version} has no probe {r.probe_id!r} with its disclosure and persona. "
                f"Name the pack that was measured with --pack."
            )
        view = judge_view(
            Case("probe", probe.id, probe.text, probe.persona, NONE, ""),
            probe,
            r.reply,
            disclosure,
            personas[probe.persona],
            pack,
            shared=_shared(r),
        )
        facts = tuple((f.kind == "ambient", f.text) for f in view.facts)
        found.append(Shown(item, view.probe, view.reply, view.disclosure, view.disclosing_turn, facts))
    return found


def _shared(record: Record) -> bool:
    """Whether the judges' digest listed a persona's other disclosures too: a setting of the whole run."""
    from pytest_hush.run.provenance import DIGEST

    return DIGEST in record.instrument
