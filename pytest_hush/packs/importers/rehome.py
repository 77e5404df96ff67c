"""Planting a pack into third-party dialogues: its disclosures, probes and controls get new homes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_hush.errors import PackError
from pytest_hush.model import Disclosure, Fact, Pack, Persona, PositiveControl, SessionFact, Turn, digest
from pytest_hush.packs.importers.background import Background
from pytest_hush.packs.importers.derive import derive_controls
from pytest_hush.packs.stems import StemSet

VERSION: Final = 1
"""Rises whenever the same pack and background give another planted pack."""

Rename = Callable[[str], str]


def plant_into(pack: Pack, background: Background) -> Pack:
    """`pack` with the i-th persona's disclosures, probes, invitations and controls in the i-th dialogue.

    The dialogues are the personas of the result and keep their ids; every other id stays. Speakers of planted
    turns, and the names of the pack's persona and partner as whole words, become the dialogue's. A disclosure
    whose category the dialogue already holds (labels given) changes places with one of another persona, of
    the same strength and position, where that leaves both free of a clash; ``background["imbalance"]`` tells
    the exchanges, the clashes that stay, and what was left out. Positive controls come from the dialogue.

    Raises `PackError` when the background is empty, an id would be used twice, or a dialogue gives no
    positive controls.
    """
    if not background.personas:
        raise PackError("the background holds no dialogue; expected at least one to plant the pack into.")
    used = min(len(pack.personas), len(background.personas))
    hosts = background.personas[:used]
    homes, remarks = _homes(pack, hosts)
    remarks += _left_out(pack, background, used)

    guests = {p.id: p for p in pack.personas}
    delicate = StemSet(sorted({s for d in pack.disclosures for s in (*d.core, *d.synonyms)}))
    renames: dict[str, Rename] = {}
    disclosures: list[Disclosure] = []
    for d in pack.disclosures:
        if d.id in homes:
            renames[d.id] = _rename(guests[d.persona], homes[d.id])
            disclosures.append(_rehomed(d, homes[d.id], renames[d.id]))
    personas: list[Persona] = []
    positive: list[PositiveControl] = []
    for host in hosts:
        planted = [t for d in disclosures if d.persona == host.id for t in d.turns]
        facts, controls = derive_controls(host, planted=planted, delicate=delicate)
        personas.append(replace(host, facts=(*_other(host.facts), *facts)))
        positive += controls
    probes = tuple(
        replace(p, persona=homes[p.disclosure].id, text=renames[p.disclosure](p.text))
        for p in pack.probes
        if p.disclosure in homes
    )
    kept = {p.id for p in probes}
    planted_pack = replace(
        pack,
        name=f"{pack.name}-{background.format}",
        title=f"{pack.title}, planted into {background.format} dialogues",
        licence=f"{pack.licence} AND {background.licence}",
        hash=_hash(pack, background),
        private=pack.private or background.private,
        personas=tuple(personas),
        disclosures=tuple(disclosures),
        probes=probes,
        invitations=tuple(i for i in pack.invitations if i.probe in kept),
        controls=tuple(replace(c, text=renames[c.disclosure](c.text)) for c in pack.controls if c.disclosure in homes),
        positive_controls=tuple(positive),
        background=_provenance(background, remarks),
        ambient_labelled=background.ambient_labelled,
    )
    _refuse_doubles(planted_pack)
    return planted_pack


def _homes(pack: Pack, hosts: Sequence[Persona]) -> tuple[dict[str, Persona], list[str]]:
    """Disclosure id -> dialogue, and what was exchanged or clashes."""
    host_of = {p.id: host for p, host in zip(pack.personas, hosts, strict=False)}
    spare = [d for d in pack.disclosures if d.persona not in host_of]
    homes = {d.id: host_of[d.persona] for d in pack.disclosures if d.persona in host_of}
    held = {host.id: {f.category for f in host.facts if f.kind == "ambient"} for host in hosts}
    by_id = {d.id: d for d in pack.disclosures}
    exchanged: list[str] = []
    clashing: list[str] = []
    for d in pack.disclosures:
        home = homes.get(d.id)
        if home is None or d.category not in held[home.id]:
            continue
        alike = [o for o in (*spare, *map(by_id.__getitem__, homes)) if _alike(d, o)]
        fits = [
            o
            for o in alike
            if o.category not in held[home.id]
            and homes.get(o.id) is not home
            and (o.id not in homes or d.category not in held[homes[o.id].id])
        ]
        if not fits:
            clashing.append(f"{d.id} ({d.category}) in {home.id}")
            continue
        other = min(fits, key=lambda o: (_doubles(o, home, homes, by_id), _order(o, home, hosts, homes), o.id))
        exchanged.append(f"{d.id} ({d.category}) for {other.id} ({other.category}) in {home.id}")
        if other.id in homes:
            homes[d.id], homes[other.id] = homes[other.id], home
        else:
            del homes[d.id]
            homes[other.id] = home
            spare = [d if s.id == other.id else s for s in spare]
    remarks = []
    if exchanged:
        remarks.append(f"exchanged because the dialogue holds the topic already: {', '.join(exchanged)}")
    if clashing:
        remarks.append(f"kept although the dialogue holds the topic already: {', '.join(clashing)}")
    return homes, remarks


def _alike(d: Disclosure, other: Disclosure) -> bool:
    return other.id != d.id and (other.strength, other.position) == (d.strength, d.position)


def _doubles(d: Disclosure, home: Persona, homes: Mapping[str, Persona], by_id: Mapping[str, Disclosure]) -> bool:
    """True when `home` has a disclosure of that category already: two would read as one story."""
    return any(h.id == home.id and by_id[key].category == d.category for key, h in homes.items())


def _order(d: Disclosure, home: Persona, hosts: Sequence[Persona], homes: Mapping[str, Persona]) -> int:
    """Distance to the dialogue that `d` comes from, later ones first; spares last of all."""
    place = {host.id: i for i, host in enumerate(hosts)}
    return (place[homes[d.id].id] - place[home.id]) % len(hosts) if d.id in homes else len(hosts)


def _left_out(pack: Pack, background: Background, used: int) -> list[str]:
    remarks = []
    if rest := [p.id for p in pack.personas[used:]]:
        remarks.append(f"personas of the pack left out for want of dialogues: {', '.join(rest)}")
    if rest := [p.id for p in background.personas[used:]]:
        remarks.append(f"dialogues left unused: {', '.join(rest)}")
    if not background.ambient_labelled:
        remarks.append("the dialogues' own sensitive turns are not labelled, so no topic was looked out for")
    if bound := sum(1 for d in pack.disclosures if d.constraints):
        remarks.append(f"constraints of {bound} disclosures were not checked against the speakers")
    return remarks


def _rename(guest: Persona, host: Persona) -> Rename:
    names = {guest.name: host.name, guest.partner: host.partner}
    # Both names in one pass: one after the other would rename a partner who is called like the new user.
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return lambda text: pattern.sub(lambda m: names[m[0]], text)


def _rehomed(d: Disclosure, host: Persona, rename: Rename) -> Disclosure:
    speaker = {"user": host.name, "assistant": host.partner}
    fact = d.session_fact
    return replace(
        d,
        persona=host.id,
        statement=rename(d.statement),
        question=rename(d.question),
        turns=tuple(Turn(t.id, t.role, speaker[t.role], rename(t.text)) for t in d.turns),
        session_fact=SessionFact(rename(fact.text), rename(fact.question), fact.answer),
    )


def _other(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    return tuple(f for f in facts if f.kind == "ambient")


def _hash(pack: Pack, background: Background) -> str:
    made_of = [pack.hash, background.sha256, background.importer, background.labels_sha256]
    return digest(["planted", VERSION, *made_of], 64)


def _provenance(background: Background, remarks: Sequence[str]) -> dict[str, str]:
    found = {
        "format": background.format,
        "sha256": background.sha256,
        "licence": background.licence,
        "importer": background.importer,
        "labels_sha256": background.labels_sha256,
        "imbalance": "; ".join(remarks),
        "notes": "; ".join(background.notes),
    }
    return {name: value for name, value in found.items() if value}


def _refuse_doubles(pack: Pack) -> None:
    ids = [
        *(p.id for p in pack.personas),
        *(s.id for p in pack.personas for s in p.sessions),
        *(t.id for p in pack.personas for s in p.sessions for t in s.turns),
        *(f.id for p in pack.personas for f in p.facts),
        *(d.id for d in pack.disclosures),
        *(d.session_id for d in pack.disclosures),
        *(t.id for d in pack.disclosures for t in d.turns),
        *(x.id for group in (pack.probes, pack.invitations, pack.controls, pack.positive_controls) for x in group),
    ]
    seen: set[str] = set()
    for key in ids:
        if key in seen:
            raise PackError(
                f"the id {key!r} is used by the pack {pack.name} and by the background; expected dialogues whose "
                f"names differ from the pack's ids."
            )
        seen.add(key)
