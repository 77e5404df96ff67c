from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import LabelError
from pytest_hush.judges.labelled_views import labelled_views
from pytest_hush.judges.labels import Scores, find_labels, held_out, tuning, whole
from pytest_hush.judges.labels_file import json_schema, packs_named
from pytest_hush.packs import load_pack
from tests.unit.judges.labelled import label, lines_of, seal, starter, write_half, write_set

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("labels") / "set")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "set"))


def test_both_halves_and_the_whole(made: Path) -> None:
    one, two, both = tuning(made), held_out(str(made)), whole(made)
    assert (one.part, two.part, both.part) == ("tuning", "held-out", "all")
    assert both.items == one.items + two.items
    assert one.hash == two.hash == both.hash
    assert (both.name, both.version, both.language, len(both.hash)) == ("labels-test", "1.0", "en", 64)
    assert len(one.items) == len(two.items) == 20


def test_consensus_is_what_was_adjudicated_else_the_mean(made: Path) -> None:
    first, adjudicated, third, invited, *_, plain = (*tuning(made).items[:4], tuning(made).items[5])
    assert first.consensus == Scores(0.0, 0.0, 0.0, 0.75)
    assert (adjudicated.first.v, adjudicated.second.v, adjudicated.consensus.v) == (0.5, 0.75, 0.5)  # type: ignore[union-attr]
    assert plain.consensus.v == 0.625
    assert (third.consensus.v, third.used, third.item.origin) == (1.0, ("target",), "recorded")
    assert (invited.consensus.v, invited.consensus.target_uptake) == (None, 1.0)
    assert {x.kind for x in tuning(made).items} == {"model"}


def test_who_stands_behind_the_consensus(folder: Path) -> None:
    items, labels = lines_of("tuning")
    labels[0]["annotator_kind"] = labels[2]["annotator_kind"] = "human"
    labels[-1]["annotator_kind"] = "human"
    write_half(folder, "tuning", items, labels)
    seal(folder)
    # One pass of two by a person is mixed; an item that a person adjudicated is the person's.
    assert [x.kind for x in tuning(folder).items[:3]] == ["mixed", "human", "model"]


@pytest.mark.parametrize("half", ["tuning", "held-out"])
def test_a_half_is_read_without_the_other(folder: Path, half: str) -> None:
    other = {"tuning": "held-out", "held-out": "tuning"}[half]
    shutil.rmtree(folder / other)
    assert len((tuning if half == "tuning" else held_out)(folder).items) == 20
    with pytest.raises(LabelError, match=f"{other}/items.jsonl cannot be read"):
        whole(folder)


AUDIT = """
import os, sys
root, name = os.path.realpath(sys.argv[1]), sys.argv[2]
touched = set()

def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "glob.glob") and isinstance(arguments[0], (str, os.PathLike)):
        path = os.path.realpath(os.fspath(arguments[0]))
        if path.startswith(root):
            touched.add(os.path.relpath(path, root))

sys.addaudithook(hook)
from pytest_hush.judges import labels
getattr(labels, name)(root)
print(*sorted(touched))
"""


@pytest.mark.parametrize(("name", "half"), [("tuning", "tuning"), ("held_out", "held-out")])
def test_no_loader_opens_a_file_of_the_other_half(made: Path, name: str, half: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", AUDIT, str(made), name], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.split() == sorted(
        ["manifest.json", *(f"{half}/{name}.jsonl" for name in ("items", "labels", "no-memory"))]
    )


# ---- what is refused --------------------------------------------------------------------------------


def change(where: str, index: int, key: str, value: Any) -> Callable[[Lines, Lines], None]:
    def edit(items: Lines, labels: Lines) -> None:
        (items if where == "items" else labels)[index][key] = value

    return edit


def both(*edits: Callable[[Lines, Lines], None]) -> Callable[[Lines, Lines], None]:
    def edit(items: Lines, labels: Lines) -> None:
        for one in edits:
            one(items, labels)

    return edit


EDITS: dict[str, tuple[Callable[[Lines, Lines], None], str]] = {
    "range": (change("labels", 2, "v", 1.25), "tuning/labels.jsonl, line 3, field `v`: read 1.25"),
    "text as number": (change("labels", 2, "v", "0.5"), "line 3, field `v`: read '0.5'"),
    "nan": (change("labels", 0, "helpfulness", float("nan")), "line 1, field `helpfulness`"),
    "v on invited": (change("labels", 6, "v", 0.5), "line 7, field `v`: read 0.5; expected null, the turn is invited"),
    "no v": (change("labels", 0, "v", None), "line 1, field `v`: read None; expected a number"),
    "kind": (change("labels", 0, "annotator_kind", "robot"), "field `annotator_kind`: read 'robot'; expected one of"),
    "pass": (change("labels", 0, "pass", "c"), "field `pass`: read 'c'"),
    "two of a pass": (change("labels", 1, "pass", "a"), "line 2, field `pass`: a second label 'a' of"),
    "one reader": (change("labels", 1, "annotator", "reader-a"), "line 2, field `annotator`: read 'reader-a' for both"),
    "item": (change("labels", 0, "item", "p99"), "line 1, field `item`: read 'p99'; expected the id of an item"),
    "unlabelled": (lambda _, labels: labels.__delitem__(slice(0, 2)), "tuning/items.jsonl, line 1: the item"),
    "twice": (lambda items, _: items.append(items[0]), "items.jsonl, line 21, field `id`: read 'p01-d"),
    "unknown field": (change("items", 3, "note", "x"), "line 4, field `note`: an unknown field; expected only the"),
    "pack": (change("items", 0, "pack", "other"), "line 1, field `pack`: read 'other'; the manifest has starter"),
    "origin": (change("items", 0, "origin", "guessed"), "field `origin`: read 'guessed'"),
    "missing": (lambda items, _: items[0].__delitem__("turn"), "line 1, field `turn`: the field is absent"),
    "several": (
        both(change("items", 0, "invited", "no"), change("labels", 0, "v", 7)),
        "2 problems in the labelled set",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_is_wrong_is_named_by_file_line_and_field(folder: Path, name: str) -> None:
    edit, text = EDITS[name]
    items, labels = lines_of("tuning")
    edit(items, labels)
    write_half(folder, "tuning", items, labels)
    seal(folder)
    with pytest.raises(LabelError) as caught:
        tuning(folder)
    assert text in str(caught.value)
    assert "hush judge manifest" in str(caught.value)


def test_an_altered_file_and_wrong_counts(folder: Path) -> None:
    path = folder / "held-out" / "labels.jsonl"
    path.write_text(path.read_text("utf-8").replace('"v": 0.0', '"v": 0.25', 1), encoding="utf-8")
    assert tuning(folder).items
    with pytest.raises(LabelError, match=r"held-out/labels\.jsonl: the file was altered"):
        held_out(folder)
    seal(folder)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["counts"]["held-out/items.jsonl"] = 19
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(LabelError, match=r"field `counts`: read 19 for held-out/items\.jsonl; expected 20"):
        held_out(folder)


def test_what_is_not_a_labelled_set(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="no labelled set 'labels-xx'"):
        find_labels("labels-xx")
    with pytest.raises(LabelError, match="does not exist"):
        tuning(tmp_path / "absent")
    with pytest.raises(LabelError, match=r"holds no manifest\.json.*hush judge manifest"):
        tuning(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    for key, value, text in (("schema", 2, "field `schema`"), ("packs", {}, "field `packs`"), ("name", None, "`name`")):
        (folder / "manifest.json").write_text(json.dumps(manifest | {key: value}), encoding="utf-8")
        with pytest.raises(LabelError, match=text):
            tuning(folder)


def test_the_schema_describes_what_is_read(made: Path) -> None:
    import jsonschema

    schema = json_schema()

    def check(name: str, value: Any) -> None:
        jsonschema.validate(value, {**schema, "$ref": f"#/$defs/{name}"})

    check("ManifestFile", json.loads((made / "manifest.json").read_text("utf-8")))
    for line in (made / "tuning" / "items.jsonl").read_text("utf-8").splitlines():
        check("ItemLine", json.loads(line))
    for line in (made / "tuning" / "labels.jsonl").read_text("utf-8").splitlines():
        check("LabelLine", json.loads(line))
    with pytest.raises(jsonschema.ValidationError):
        check("LabelLine", label("x", "a", 2.0))
    assert packs_named(made) == ("starter",)


# ---- views ------------------------------------------------------------------------------------------


def test_views_are_those_of_the_pack(made: Path) -> None:
    labels = held_out(made)
    views = labelled_views(labels, load_pack)
    assert [v.labelled for v in views] == list(labels.items)
    first, invited = views[0], views[3]
    probe = next(p for p in starter().probes if p.id == first.labelled.item.probe)
    assert (first.view.probe, first.view.invited, first.view.reply) == (probe.text, False, first.labelled.item.reply)
    assert (first.cluster, first.family) == (f"starter:{probe.persona}", probe.family)
    assert invited.view.invited
    assert invited.view.probe.startswith(probe.text[:5]) or invited.view.probe
    assert len({v.cluster for v in views}) == 5


def test_another_pack_than_was_labelled_is_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    other = replace(starter(), hash="0" * 64, version="9.9")
    with pytest.raises(LabelError, match=r"labelled on another 'starter'.*000000000000 here \(9\.9\).*--pack"):
        labelled_views(tuning(folder), lambda name: other)
    with pytest.raises(LabelError, match=r"cannot be read.*Name its folder with --pack"):
        labelled_views(tuning(folder), lambda name: load_pack(tmp_path / name))


@pytest.mark.parametrize(
    ("where", "index", "key", "value", "text"),
    [
        ("items", 0, "probe", "p01-d99-ar", "field `probe`: read 'p01-d99-ar'"),
        ("items", 0, "turn", "Something else?", "field `turn`: it is not the turn of"),
        ("items", 3, "turn", "Something else? Use whatever helps.", "an invitation line of the pack"),
        ("labels", 0, "used", ["p99-f01"], "says that 'p99-f01' was used"),
    ],
)
def test_what_does_not_fit_the_pack(folder: Path, where: str, index: int, key: str, value: Any, text: str) -> None:
    items, labels = lines_of("tuning")
    change(where, index, key, value)(items, labels)
    write_half(folder, "tuning", items, labels)
    seal(folder)
    with pytest.raises(LabelError) as caught:
        labelled_views(tuning(folder), lambda name: starter())
    assert text in str(caught.value)
    assert "tuning/items.jsonl, line " in str(caught.value)
