"""Random dialogues, ingest orders, merges and forks: the ledger against what the entries themselves say.

Every text of these sessions carries its session's mark and every rewriting of the test's store keeps the marks, so an
entry's text tells where it comes from. The ledger is never shown a mark.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st

from pytest_hush.errors import MemoryStoreError
from pytest_hush.memories.stores.backend import Hit
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.model import History, Persona, Session
from tests.unit.memories.histories import session
from tests.unit.memories.stores.notebook import ask, close

Step = tuple[str, int, int]
"""What the store does after a session was added: (kind, which entry, which other one), by their order."""

STEPS = st.lists(
    st.tuples(st.sampled_from(["update", "merge", "delete", "copy"]), st.integers(0, 9), st.integers(0, 9)), max_size=3
)


@dataclass
class Rewriting:
    """A backend that adds one entry a session and then rewrites others, as `script` says for that session."""

    script: Mapping[str, Sequence[Step]]
    order_matters: bool
    name: str = "rewriting"
    label: str = "rewriting@test"
    version: str = "1"

    @property
    def settings(self) -> Mapping[str, object]:
        return {"script": {k: [list(step) for step in v] for k, v in self.script.items()}}

    def open(self, folder: Path, channel: Channel | None) -> RewritingStore:
        return RewritingStore(self.script, folder / "rows.json")


class RewritingStore:
    def __init__(self, script: Mapping[str, Sequence[Step]], path: Path) -> None:
        self._script = script
        self._path = path
        self._rows: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def ingest(self, session: Session, persona: Persona) -> Mapping[str, Sequence[str]]:
        rows, mark = self._rows, f"<{session.id}>"
        before = dict(rows)
        derived: dict[str, set[str]] = {}
        rows[f"e-{session.id}"] = mark
        for number, (kind, first, second) in enumerate(self._script.get(session.id, ())):
            ids = list(rows)
            one, other = ids[first % len(ids)], ids[second % len(ids)]
            if kind == "update":
                rows[one] += mark
            elif kind == "delete" and len(rows) > 1:
                del rows[one]
                derived.pop(one, None)
            else:  # a new entry out of one or two old ones, which are gone after a merge
                fresh = f"{kind}-{session.id}-{number}"
                derived[fresh] = {p for part in (one, other) for p in derived.get(part, {part}) if p in before}
                rows[fresh] = rows[one] + rows[other] + mark
                for part in {one, other} if kind == "merge" else set():
                    del rows[part]
                    derived.pop(part, None)
        self._path.write_text(json.dumps(rows), "utf-8")
        return {entry: sorted(parents) for entry, parents in derived.items() if entry in rows}

    def snapshot(self) -> Mapping[str, str]:
        return dict(self._rows)

    def search(self, question: str, k: int) -> Sequence[Hit]:
        return [Hit(entry, text) for entry, text in self._rows.items()][:k]

    def close(self) -> None:
        pass


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, list[Step]], list[History], bool]:
    names = draw(st.permutations([f"s{n}" for n in range(draw(st.integers(2, 6)))]))
    background = tuple(session(name, "2025-01-01T10:00", name) for name in names)
    persona = Persona("p", "Ada", "Ivo", "", background, ())
    asked = []
    for number in range(draw(st.integers(1, 3))):
        at = draw(st.integers(1, len(background)))
        planted = session(f"d{number}", "2025-01-02T10:00", f"secret {number}")
        sessions = (*background[:at], planted, *background[at:])
        asked.append(History(persona, sessions, None, planted.id, planted.turns[0].id))
    asked.append(History(persona, background, None))
    script = {name: draw(STEPS) for name in (*names, "d0", "d1", "d2")}
    return script, draw(st.permutations(asked)), draw(st.booleans())


@settings(max_examples=40, deadline=None)
@given(worlds())
def test_the_ledger_names_exactly_the_sessions_whose_marks_an_entry_bears(
    world: tuple[dict[str, list[Step]], list[History], bool],
) -> None:
    script, asked, in_order = world
    with tempfile.TemporaryDirectory() as folder:
        memory = StoreMemory(Rewriting(script, in_order), Path(folder), top_k=1000, open_forks=2)
        for history in [*asked, *asked]:
            try:
                entries = ask(memory, history).entries
            except MemoryStoreError as error:
                # The script may delete all but the plant: that is a dead memory, not a wrong ledger.
                assert "the store is empty" in str(error)  # noqa: PT017
                event("nothing but the plant was left")
                continue
            for entry in entries:
                marks = set(re.findall(r"<([^>]+)>", entry.text))
                assert set(entry.sources or ()) == marks
                assert marks <= {s.id for s in history.sessions}
        close(memory)
