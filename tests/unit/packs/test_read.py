"""Reading: the starter pack as it ships, and every rule broken once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import PackError
from pytest_hush.model import FAMILIES
from pytest_hush.packs import find_pack, load_pack, write_manifest
from tests.unit.packs import small

Value = dict[str, Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write(tmp_path_factory.mktemp("whole") / "small")


def test_the_small_pack_is_read_in_file_order(whole: Path) -> None:
    pack = load_pack(whole)
    assert (pack.name, pack.version, pack.language, pack.licence) == ("small", "1.0.0", "en", "CC-BY-4.0")
    assert [s.id for s in pack.personas[0].sessions] == ["p01-s1", "p01-s2", "p01-s3"]
    assert [p.family for p in pack.probes] == list(FAMILIES)
    assert pack.disclosures[0].turns[2].id == pack.disclosures[0].turn_id
    assert pack.personas[0].facts[1].category == "legal_or_immigration"
    assert pack.invitation_lines == {"line-1": "Use whatever helps."}
    assert pack.ambient_labelled
    assert len(pack.hash) == 64
    assert load_pack(str(whole)) == pack


def test_the_bundled_starter_pack() -> None:
    pack = load_pack("starter")
    assert (len(pack.personas), len(pack.disclosures), len(pack.probes)) == (10, 30, 120)
    assert {(p.persona, p.family) for p in pack.probes} == {(q.id, f) for q in pack.personas for f in FAMILIES}
    assert all(sum(c.persona == p.id for c in pack.positive_controls) >= 2 for p in pack.personas)


def test_names_and_folders(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_pack("starter").name == "starter"
    with pytest.raises(PackError, match="starter"):
        find_pack("startr")
    monkeypatch.chdir(whole.parent)
    assert load_pack("small").name == "small"
    with pytest.raises(PackError, match="does not exist"):
        load_pack(tmp_path / "absent")
    (tmp_path / "file").write_text("x")
    with pytest.raises(PackError, match="is a file"):
        load_pack(tmp_path / "file")
    with pytest.raises(PackError, match=r"holds no manifest\.json.*hush probes manifest"):
        load_pack(tmp_path)


def test_the_hash_follows_the_bytes(tmp_path: Path) -> None:
    first = load_pack(small.write(tmp_path / "small")).hash
    path = tmp_path / "small/p01/probes.jsonl"
    path.write_text(path.read_text().replace("three herbs", "four herbs"))
    write_manifest(tmp_path / "small")
    assert load_pack(tmp_path / "small").hash != first


# ---- digests and bytes -----------------------------------------------------------------------------


def _append(root: Path) -> None:
    with (root / "p01/facts.jsonl").open("a") as file:
        file.write(" \n")


def _stranger(root: Path) -> None:
    (root / "p02").mkdir()
    (root / "p02/persona.json").write_text("{}")


BYTES: dict[str, tuple[Callable[[Path], object], str]] = {
    "altered": (_append, r"facts\.jsonl: the file was altered.*hush probes manifest"),
    "missing": (lambda r: (r / "p01/facts.jsonl").unlink(), r"p01/facts\.jsonl: the file is missing"),
    "no persona": (lambda r: (r / "p01/persona.json").unlink(), r"p01/persona\.json: the file is missing"),
    "extra": (lambda r: (r / "p01/more.jsonl").write_text("{}\n"), r"p01/more\.jsonl: an extra file"),
    "extra persona": (_stranger, "p02.*an extra file"),
    "BOM": (
        lambda r: (r / "p01/probes.jsonl").write_bytes(b"\xef\xbb\xbf{}\n"),
        r"probes\.jsonl, line 1: .*byte-order",
    ),
    "UTF-8": (
        lambda r: (r / "p01/probes.jsonl").write_bytes(b'{}\n"\xff"\n'),
        r"probes\.jsonl, line 2: read the byte 0xff",
    ),
    "torn": (lambda r: (r / "p01/probes.jsonl").write_bytes(b'{"id": "p01-d0'), r"probes\.jsonl, line 1: not JSON"),
    "empty": (lambda r: (r / "p01/probes.jsonl").write_bytes(b""), r"probes\.jsonl: the file is empty"),
    "empty line": (lambda r: (r / "p01/facts.jsonl").write_bytes(b"\n{}\n"), r"facts\.jsonl, line 1: an empty line"),
    "huge": (
        lambda r: (r / "p01/facts.jsonl").write_bytes(b"[" + b" " * (1 << 20) + b"]"),
        r"line 1: a line of 1,048,578",
    ),
    "manifest": (lambda r: (r / "manifest.json").write_text("{"), r"manifest\.json: not JSON"),
    "array": (lambda r: (r / "p01/facts.jsonl").write_text("[]\n"), r"facts\.jsonl, line 1.*dictionary|object"),
}


@pytest.mark.parametrize("name", BYTES)
def test_damaged_files(name: str, tmp_path: Path) -> None:
    damage, expected = BYTES[name]
    root = small.write(tmp_path / "small")
    damage(root)
    with pytest.raises(PackError, match=expected):
        load_pack(root)


def test_files_of_no_concern_are_left_alone(tmp_path: Path) -> None:
    root = small.write(tmp_path / "small")
    (root / "README.md").write_text("How it was made.")
    (root / ".hidden.json").write_text("{}")
    assert load_pack(root).name == "small"


@pytest.mark.parametrize(
    "key,value,expected",
    [
        ("schema", 2, "field `schema`: read 2; expected 1"),
        ("version", "one", "field `version`: read 'one'"),
        ("language", "", "field `language`"),
        ("extra", 1, "field `extra`: an unknown field"),
        ("private", "no", "field `private`: read 'no'"),
        ("background", {"format": "locomo"}, r"sha256, licence absent"),
        ("files", {"../p01/probes.jsonl": "0" * 64}, "field `files"),
    ],
)
def test_manifest_fields(key: str, value: object, expected: str, tmp_path: Path) -> None:
    root = small.write(tmp_path / "small")
    manifest = json.loads((root / "manifest.json").read_text())
    manifest[key] = value
    (root / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(PackError, match=expected):
        load_pack(root)


def test_counts_must_fit(tmp_path: Path) -> None:
    root = small.write(tmp_path / "small")
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["counts"]["probes"] = 5
    (root / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(PackError, match=r"field `counts\.probes`: read 5; expected 4"):
        load_pack(root)


# ---- one rule broken at a time ---------------------------------------------------------------------


def put(file: str, index: int, *keys: str | int, value: Any) -> Callable[[Value], None]:
    def edit(files: Value) -> None:
        target = files[f"p01/{file}.jsonl"][index]
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value

    return edit


def drop(file: str, index: int, key: str) -> Callable[[Value], object]:
    return lambda files: files[f"p01/{file}.jsonl"][index].pop(key)


RULES: dict[str, tuple[Callable[[Value], object], str]] = {
    "family": (
        put("probes", 1, "family", value="foo"),
        r"probes\.jsonl, line 2, field `family`: read 'foo'; expected one of 'attitude",
    ),
    "domain": (put("probes", 0, "domain", value="money"), "field `domain`: read 'money'"),
    "type": (put("probes", 0, "text", value=7), "field `text`: read 7"),
    "blank": (put("probes", 0, "text", value="  "), "field `text`"),
    "absent": (drop("probes", 0, "domain"), "field `domain`: the field is absent"),
    "unknown": (put("probes", 0, "note", value="x"), "field `note`: an unknown field"),
    "id": (put("probes", 0, "id", value="P 1"), "field `id`: read 'P 1'"),
    "position": (put("disclosures", 0, "position", value=0.5), r"field `position`: read 0\.5; expected 0\.3 or 0\.8"),
    "category": (put("disclosures", 0, "category", value="money"), "field `category`: read 'money'"),
    "constraint": (put("disclosures", 0, "constraints", value=["rich"]), r"field `constraints\.0`: read 'rich'"),
    "one core": (put("disclosures", 0, "core", value=["owe"]), "field `core`"),
    "stem": (put("disclosures", 0, "synonyms", value=["_"]), "field `synonyms`.*letter or digit"),
    "short session": (lambda f: f["p01/disclosures.jsonl"][0]["session"]["turns"].pop(), r"field `session\.turns`"),
    "date form": (put("sessions", 0, "date", value="2025-01-10"), "field `date`: read '2025-01-10'"),
    "date": (put("sessions", 0, "date", value="2025-02-30T09:00"), "field `date`.*calendar"),
    "ambient category": (drop("facts", 1, "category"), "a `category` for an ambient fact"),
    "ambient stems": (put("facts", 1, "stems", value=["uncle"]), "two or more `stems`"),
    "benign category": (put("facts", 0, "category", value="debt"), "no `category` for a benign fact"),
    "control category": (drop("controls", 1, "category"), "a `category` for an irrelevant-sensitive control"),
    "same category": (put("controls", 1, "category", value="debt"), r"controls\.jsonl, line 2, field `category`"),
    "duplicate id": (put("facts", 1, "id", value="p01-s1-t1"), r"expected an id of its own"),
    "folder": (
        lambda f: f["p01/persona.json"].update(id="p02"),
        "persona.json, field `id`: read 'p02'; expected 'p01'",
    ),
    "persona": (put("probes", 0, "persona", value="p02"), "field `persona`: read 'p02'"),
    "order": (
        put("sessions", 1, "date", value="2025-01-10T09:00"),
        r"sessions\.jsonl, line 2, field `date`.*after 2025-01-10T09:00",
    ),
    "speaker": (
        put("sessions", 0, "turns", 0, "speaker", value="Odo"),
        r"field `turns\.0\.speaker`: read 'Odo'; expected 'Ines'",
    ),
    "fact turn": (put("facts", 0, "turn", value="p01-d01-s-t1"), "field `turn`: read 'p01-d01-s-t1'"),
    "fact stems": (put("facts", 0, "stems", value=["plum"]), "field `stems`.*1 or more that occur in p01-s1-t1"),
    "ambient stem absent": (put("facts", 1, "stems", value=["uncle", "prison"]), "2 or more that occur"),
    "planted turn": (
        put("disclosures", 0, "session", "turn", value="p01-d01-s-t2"),
        r"field `session\.turn`.*user turn",
    ),
    "planted nowhere": (put("disclosures", 0, "session", "turn", value="p01-s1-t1"), r"field `session\.turn`"),
    "core absent": (put("disclosures", 0, "core", value=["owe", "mortgage"]), "field `core`.*two or more that occur"),
    "canary absent": (put("disclosures", 0, "canary", value="Zellimar"), "field `canary`: read 'Zellimar'"),
    "session fact": (put("disclosures", 0, "session_fact", "answer", value=["mug"]), r"field `session_fact\.answer`"),
    "session fact told with it": (
        put("disclosures", 0, "session_fact", "answer", value=["envelope"]),
        r"field `session_fact\.answer`",
    ),
    "probe's disclosure": (put("probes", 0, "disclosure", value="p01-d09"), "field `disclosure`: read 'p01-d09'"),
    "family twice": (put("probes", 1, "family", value="attitude_reversal"), "one probe a family for p01-d01"),
    "family absent": (
        lambda f: f["p01/probes.jsonl"].pop(),
        r"disclosures\.jsonl, line 1.*no casual_sensitive_lure probe",
    ),
    "core in probe": (
        put("probes", 0, "text", value="How do I tell what I owe for a kitchen?"),
        "stem 'owe' of p01-d01",
    ),
    "synonym in probe": (put("probes", 0, "text", value="Are loans for kitchens usual?"), "stem 'loan' of p01-d01"),
    "canary in probe": (
        put("probes", 0, "text", value="Is Quorvane a nice name for a kitchen?"),
        r"probes\.jsonl, line 1, field `text`: read the canary",
    ),
    "canary in session": (
        put("sessions", 2, "turns", 0, "text", value="Saw QUORVANE's shop."),
        r"sessions\.jsonl, line 3.*canary",
    ),
    "canary in reply": (
        put("disclosures", 0, "session", "turns", 3, "text", value="Quorvane, then."),
        r"session\.turns\.3\.text`: read the canary",
    ),
    "canary in question": (
        put("disclosures", 0, "question", value="What of Quorvane?"),
        "field `question`: read the canary",
    ),
    "canary in control": (
        put("controls", 0, "text", value="I walk past Quorvane."),
        r"controls\.jsonl, line 1.*canary",
    ),
    "invited probe": (put("invitations", 0, "probe", value="p01-d01-xx"), "field `probe`: read 'p01-d01-xx'"),
    "invitation line": (
        put("invitations", 0, "line", value="line-9"),
        "field `line`: read 'line-9'; expected one of line-1",
    ),
    "invited twice": (
        lambda f: f["p01/invitations.jsonl"].append({"id": "p01-i2", "probe": "p01-d01-ar", "line": "line-1"}),
        "one invitation a probe",
    ),
    "control's disclosure": (put("controls", 0, "disclosure", value="p01-d02"), "field `disclosure`: read 'p01-d02'"),
    "control twice": (put("controls", 0, "kind", value="oracle"), "one of a kind for p01-d01"),
    "control's fact": (
        put("positive_controls", 0, "fact", value="p01-a1"),
        "field `fact`: read 'p01-a1'; expected a benign",
    ),
    "control's answer": (put("positive_controls", 0, "answer", value=["plum"]), "field `answer`.*occur in p01-s1-t1"),
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_is_enforced(name: str, tmp_path: Path) -> None:
    edit, expected = RULES[name]
    with pytest.raises(PackError, match=expected) as caught:
        load_pack(small.broken(tmp_path / "small", edit))
    assert "hush probes check" in str(caught.value)


def test_several_problems_in_one_message_one_a_file_first(tmp_path: Path) -> None:
    def edit(files: Value) -> None:
        for probe in files["p01/probes.jsonl"]:
            probe["extra"] = probe["more"] = probe["third"] = 1
        files["p01/facts.jsonl"][0]["kind"] = "odd"

    with pytest.raises(PackError) as caught:
        load_pack(small.broken(tmp_path / "small", edit))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("13 problems in the pack")
    assert sum("probes.jsonl" in line for line in lines[1:3]) == 1
    assert any("facts.jsonl, line 1, field `kind`: read 'odd'" in line for line in lines[1:3])
    assert "and 3 more" in lines[11]
    assert len(lines) == 13


def test_oracle_and_statement_may_tell_the_canary(whole: Path) -> None:
    pack = load_pack(whole)
    assert "Quorvane" in pack.disclosures[0].statement
    assert "Quorvane" in next(c.text for c in pack.controls if c.kind == "oracle")


@pytest.mark.parametrize(
    "name, told", [("labels-en-1", "is a labelled set"), ("recorded-en-1", "holds recorded replies")]
)
def test_other_bundled_data_is_told_from_a_pack_in_one_line(name: str, told: str) -> None:
    with pytest.raises(PackError) as caught:
        load_pack(name)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_name_is_no_folder_of_a_pack() -> None:
    with pytest.raises(PackError, match="Pack '': an empty name"):
        load_pack("")
