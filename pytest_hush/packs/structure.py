"""What a pack's files must agree on: ids, references, order, canaries, stems. `hush probes check` adds the rest.

Every rule here is one without which a measurement would be wrong, so `load_pack` refuses the pack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_hush.model import FAMILIES
from pytest_hush.packs.files import MANIFEST, Located, RawPack
from pytest_hush.packs.problems import Problems, shown
from pytest_hush.packs.schema import Counts, DisclosureLine, FactLine, PersonaFile, TurnLine
from pytest_hush.packs.stems import StemIndex, StemSet, word_tuple


def check_structure(raw: RawPack, root: Path) -> None:
    """Raise one `PackError` with every broken rule, unless there is none."""
    problems = Problems(root)
    _Structure(raw, problems).run()
    problems.check()


class _Structure:
    def __init__(self, raw: RawPack, problems: Problems) -> None:
        self.raw = raw
        self.problems = problems
        self.personas = {p.value.id: p.value for p in raw.personas}
        self.disclosures = {d.value.id: d.value for d in raw.disclosures}
        self.probes = {p.value.id: p.value for p in raw.probes}
        self.facts: dict[str, FactLine] = {f.value.id: f.value for f in raw.facts}
        self.turns: dict[str, tuple[str, TurnLine]] = {
            t.id: (s.value.persona, t) for s in raw.sessions for t in s.value.turns
        }

    def run(self) -> None:
        self.check_counts()
        self.check_ids()
        self.check_personas()
        self.check_sessions()
        self.check_facts()
        for d in self.raw.disclosures:
            self.check_disclosure(d, d.value)
        self.check_probes()
        self.check_invitations()
        self.check_controls()
        self.check_positive_controls()
        self.check_canaries()

    def report(self, at: Located[Any], field: str, text: str) -> None:
        self.problems.add(at.file, text, line=at.line, field=field)

    def check_counts(self) -> None:
        for kind in Counts.model_fields:
            read, found = getattr(self.raw.manifest.counts, kind), len(getattr(self.raw, kind))
            if read != found:
                self.problems.add(MANIFEST, f"read {read}; expected {found}, as in the files", field=f"counts.{kind}")

    def check_ids(self) -> None:
        first: dict[str, Located[Any]] = {}
        for at, field, key in self._all_ids():
            if key in first:
                other = first[key]
                where = other.file if other.line is None else f"{other.file}, line {other.line}"
                self.report(at, field, f"read {key!r}; expected an id of its own ({where} has it too)")
            else:
                first[key] = at

    def _all_ids(self) -> Iterator[tuple[Located[Any], str, str]]:
        raw = self.raw
        for group in (
            raw.personas, raw.lines, raw.facts, raw.probes, raw.invitations, raw.controls, raw.positive_controls
        ):  # fmt: skip
            for at in group:
                yield at, "id", at.value.id
        for s in raw.sessions:
            yield s, "id", s.value.id
            for i, turn in enumerate(s.value.turns):
                yield s, f"turns.{i}.id", turn.id
        for d in raw.disclosures:
            yield d, "id", d.value.id
            yield d, "session.id", d.value.session.id
            for i, turn in enumerate(d.value.session.turns):
                yield d, f"session.turns.{i}.id", turn.id

    def check_personas(self) -> None:
        for p in self.raw.personas:
            if p.value.id != p.folder:
                self.report(p, "id", f"read {p.value.id!r}; expected {p.folder!r}, the folder's name")
        raw = self.raw
        for group in (raw.sessions, raw.facts, raw.disclosures, raw.probes, raw.positive_controls):
            for at in group:
                if at.value.persona != at.folder:
                    self.report(at, "persona", f"read {at.value.persona!r}; expected {at.folder!r}, the folder's name")

    def check_sessions(self) -> None:
        last: dict[str, str] = {}
        for s in self.raw.sessions:
            before = last.get(s.folder, "")
            # A third party's dialogue keeps its own order, whatever its dates say.
            if s.value.date <= before and self.raw.manifest.background is None:
                self.report(s, "date", f"read {s.value.date!r}; expected a date after {before}, the session before")
            last[s.folder] = s.value.date
            self.check_speakers(s, s.value.turns, "turns")

    def check_speakers(self, at: Located[Any], turns: tuple[TurnLine, ...], field: str) -> None:
        persona: PersonaFile | None = self.personas.get(at.folder)
        if persona is None:
            return
        for i, turn in enumerate(turns):
            expected = persona.name if turn.role == "user" else persona.partner
            if turn.speaker != expected:
                self.report(
                    at, f"{field}.{i}.speaker", f"read {turn.speaker!r}; expected {expected!r}, who is the {turn.role}"
                )

    def check_facts(self) -> None:
        for f in self.raw.facts:
            owner, turn = self.turns.get(f.value.turn, ("", None))
            if turn is None or owner != f.value.persona:
                self.report(f, "turn", f"read {f.value.turn!r}; expected a turn of the persona's sessions.jsonl")
                continue
            needed = 2 if f.value.kind == "ambient" else 1
            if len(StemSet(f.value.stems).found(word_tuple(turn.text))) < needed:
                self.report(
                    f, "stems", f"read {shown(list(f.value.stems))}; expected {needed} or more that occur in {turn.id}"
                )

    def check_disclosure(self, at: Located[DisclosureLine], d: DisclosureLine) -> None:
        self.check_speakers(at, d.session.turns, "session.turns")
        told = next((t for t in d.session.turns if t.id == d.session.turn), None)
        if told is None or told.role != "user":
            self.report(at, "session.turn", f"read {d.session.turn!r}; expected a user turn of this session")
            return
        told_words = word_tuple(told.text)
        if len(StemSet(d.core).found(told_words)) < 2:
            self.report(at, "core", f"read {shown(list(d.core))}; expected two or more that occur in {told.id}")
        if not StemSet([d.canary]).found(told_words):
            self.report(at, "canary", f"read {d.canary!r}; expected it in the disclosing turn {told.id}")
        answer = StemSet(d.session_fact.answer)
        others = [t for t in d.session.turns if t is not told]
        if not any(len(answer.found(word_tuple(t.text))) == len(answer.stems) for t in others):
            self.report(
                at,
                "session_fact.answer",
                f"read {shown(list(answer.stems))}; expected all of it in one turn of the session other than {told.id}",
            )

    def check_probes(self) -> None:
        families: dict[str, list[str]] = defaultdict(list)
        forbidden = {d.id: StemSet([*d.core, *d.synonyms]) for d in self.disclosures.values()}
        for p in self.raw.probes:
            d = self.disclosures.get(p.value.disclosure)
            if d is None or d.persona != p.value.persona:
                self.report(p, "disclosure", f"read {p.value.disclosure!r}; expected a disclosure of this persona")
                continue
            if p.value.family in families[d.id]:
                self.report(p, "family", f"read {p.value.family!r}; expected one probe a family for {d.id}")
            families[d.id].append(p.value.family)
            if found := forbidden[d.id].found(word_tuple(p.value.text)):
                self.report(
                    p, "text", f"read the core or synonym stem {found[0]!r} of {d.id}; expected a probe without it"
                )
        for at in self.raw.disclosures:
            if absent := [f for f in FAMILIES if f not in families[at.value.id]]:
                self.report(at, "id", f"{at.value.id} has no {' / '.join(absent)} probe; expected one a family")

    def check_invitations(self) -> None:
        lines = {e.value.id for e in self.raw.lines}
        seen: set[str] = set()
        for i in self.raw.invitations:
            probe = self.probes.get(i.value.probe)
            if probe is None or probe.persona != i.folder:
                self.report(i, "probe", f"read {i.value.probe!r}; expected a probe of this persona")
            elif probe.id in seen:
                self.report(i, "probe", f"read {probe.id!r} again; expected one invitation a probe at most")
            if i.value.line not in lines:
                self.report(i, "line", f"read {i.value.line!r}; expected one of {', '.join(sorted(lines))}")
            seen.add(i.value.probe)

    def check_controls(self) -> None:
        seen: set[tuple[str, str]] = set()
        for c in self.raw.controls:
            d = self.disclosures.get(c.value.disclosure)
            if d is None or d.persona != c.folder:
                self.report(c, "disclosure", f"read {c.value.disclosure!r}; expected a disclosure of this persona")
                continue
            if (d.id, c.value.kind) in seen:
                self.report(c, "kind", f"read {c.value.kind!r} again; expected one of a kind for {d.id}")
            seen.add((d.id, c.value.kind))
            if c.value.category == d.category:
                self.report(c, "category", f"read {c.value.category!r}; expected another category than that of {d.id}")

    def check_positive_controls(self) -> None:
        for c in self.raw.positive_controls:
            fact = self.facts.get(c.value.fact)
            if fact is None or fact.persona != c.value.persona or fact.kind != "benign":
                self.report(c, "fact", f"read {c.value.fact!r}; expected a benign fact of this persona")
                continue
            _, turn = self.turns.get(fact.turn, ("", None))
            if turn and len(StemSet(c.value.answer).found(word_tuple(turn.text))) < len(c.value.answer):
                self.report(
                    c, "answer", f"read {shown(list(c.value.answer))}; expected every stem to occur in {turn.id}"
                )

    def check_canaries(self) -> None:
        # Kept out of: every text that can reach a generator, a memory or a judge by another route than the
        # disclosing turn. The statement and the disclosure's own oracle control tell it on purpose.
        canaries = StemIndex((d.canary, d.id) for d in self.disclosures.values())
        for at, field, text, own in self._texts():
            for owner in canaries.owners_in(text):
                if owner != own:
                    canary = self.disclosures[owner].canary
                    self.report(
                        at, field, f"read the canary {canary!r} of {owner}; expected it in its disclosing turn only"
                    )

    def _texts(self) -> Iterator[tuple[Located[Any], str, str, str]]:
        raw = self.raw
        for p in raw.personas:
            yield p, "about", p.value.about, ""
        for e in raw.lines:
            yield e, "text", e.value.text, ""
        for s in raw.sessions:
            for i, turn in enumerate(s.value.turns):
                yield s, f"turns.{i}.text", turn.text, ""
        for f in raw.facts:
            yield f, "text", f.value.text, ""
        for d in raw.disclosures:
            yield d, "statement", d.value.statement, d.value.id
            yield d, "question", d.value.question, ""
            yield d, "session_fact.text", d.value.session_fact.text, ""
            yield d, "session_fact.question", d.value.session_fact.question, ""
            for i, turn in enumerate(d.value.session.turns):
                yield d, f"session.turns.{i}.text", turn.text, d.value.id if turn.id == d.value.session.turn else ""
        for probe in raw.probes:
            yield probe, "text", probe.value.text, ""
        for c in raw.controls:
            yield c, "text", c.value.text, c.value.disclosure if c.value.kind == "oracle" else ""
        for q in raw.positive_controls:
            yield q, "question", q.value.question, ""
