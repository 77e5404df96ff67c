"""From labelled items to what a judge sees of them: views by the pack that each item was made on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_hush.errors import LabelError, PackError
from pytest_hush.judges.labels import Item, Labelled, LabelledSet
from pytest_hush.judges.view import judge_view
from pytest_hush.model import NONE, Case, Disclosure, JudgeView, Pack, Persona, Probe


@dataclass(frozen=True, slots=True)
class LabelledView:
    """One labelled reply as a judge sees it. `cluster` is its persona, the unit that is resampled."""

    labelled: Labelled
    view: JudgeView
    cluster: str
    family: str
    category: str


@dataclass(frozen=True, slots=True)
class _Known:
    pack: Pack
    probes: Mapping[str, Probe]
    disclosures: Mapping[str, Disclosure]
    personas: Mapping[str, Persona]

    @classmethod
    def of(cls, pack: Pack) -> _Known:
        return cls(
            pack,
            {p.id: p for p in pack.probes},
            {d.id: d for d in pack.disclosures},
            {p.id: p for p in pack.personas},
        )


def labelled_views(labels: LabelledSet, load: Callable[[str], Pack]) -> tuple[LabelledView, ...]:
    """The views of `labels`, in their order. `load` gives the pack of a name.

    Raises `LabelError`: a pack that is not there or is another one than was labelled, a probe or fact that it does not
    have, a turn that is not the probe's.
    """
    known = {name: _Known.of(_right(labels, name, load)) for name in sorted({x.item.pack for x in labels.items})}
    return tuple(_view(x, known[x.item.pack], labels.shared) for x in labels.items)


def no_memory_views(labels: LabelledSet, load: Callable[[str], Pack]) -> tuple[tuple[JudgeView, str], ...]:
    """The views of the replies without history, each with its persona's cluster. Raises `LabelError` as above."""
    known = {name: _Known.of(_right(labels, name, load)) for name in sorted({x.pack for x in labels.no_memory})}
    found = []
    for item in labels.no_memory:
        base = known[item.pack]
        probe = base.probes.get(item.probe)
        if probe is None:
            raise LabelError(f"{item.where}, {item.id}: read probe {item.probe!r}; expected one of {base.pack.name}.")
        _check_turn(item, probe, base)
        found.append((_judge_view(item, probe, base), f"{base.pack.name}:{probe.persona}"))
    return tuple(found)


def _judge_view(item: Item, probe: Probe, known: _Known, shared: bool = False) -> JudgeView:
    return judge_view(
        Case("probe", probe.id, item.turn, probe.persona, NONE, "", invited=item.invited),
        probe,
        item.reply,
        known.disclosures[probe.disclosure],
        known.personas[probe.persona],
        known.pack,
        shared=shared,
    )


def _right(labels: LabelledSet, name: str, load: Callable[[str], Pack]) -> Pack:
    wanted = labels.packs[name]
    try:
        pack = load(name)
    except PackError as error:
        raise LabelError(
            f"The labelled set {labels.name} {labels.version} is made on the pack {name!r}, which cannot be read: "
            f"{error} Name its folder with --pack."
        ) from None
    if pack.hash != wanted:
        raise LabelError(
            f"The labelled set {labels.name} {labels.version} was labelled on another {name!r}: {wanted[:12]} there, "
            f"{pack.hash[:12]} here ({pack.version}). Labels hold for the texts that were read. Name the pack that was "
            f"labelled with --pack, or take the labelled set that belongs to this version of the pack."
        )
    return pack


def _view(labelled: Labelled, known: _Known, shared: bool) -> LabelledView:
    item = labelled.item
    probe = known.probes.get(item.probe)
    if probe is None:
        raise LabelError(f"{item.where}, field `probe`: read {item.probe!r}; expected a probe of {known.pack.name}.")
    _check_turn(item, probe, known)
    disclosure, persona = known.disclosures[probe.disclosure], known.personas[probe.persona]
    view = _judge_view(item, probe, known, shared)
    usable = {"target", *(f.id for f in view.facts)}
    if unknown := [u for u in labelled.used if u not in usable]:
        raise LabelError(
            f"{item.where}: a label of {item.id!r} says that {unknown[0]!r} was used; expected 'target' or the id of a "
            f"fact of {persona.id} in {known.pack.name}."
        )
    return LabelledView(labelled, view, f"{known.pack.name}:{probe.persona}", probe.family, disclosure.category)


def _check_turn(item: Item, probe: Probe, known: _Known) -> None:
    """A label holds for the turn that was read: it must be the probe's, to the letter."""
    if not item.invited:
        right = item.turn == probe.text
    else:
        right = any(item.turn == f"{probe.text} {line}" for line in known.pack.invitation_lines.values())
    if not right:
        wanted = "its text and an invitation line of the pack" if item.invited else "its text"
        raise LabelError(
            f"{item.where}, field `turn`: it is not the turn of {probe.id} in {known.pack.name}; expected {wanted}, to "
            f"the letter. The label holds for the turn that was read."
        )
