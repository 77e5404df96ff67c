"""The readers' CSV: what is read back as it was meant, and an error with file and line for what is not."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from pytest_hush.errors import LabelError
from pytest_hush.review.material import Shown
from pytest_hush.review.sheet import read_sheet, sheet_text

REPLIES = {
    "a1": "Since the loss, go slowly.",
    "a2": "=HYPERLINK(1)\nTwo lines, of one reply.",
    "a3": "Water the fern.",
}
ITEMS = [Shown(i, "+turn", reply, "-1 secret", "told", ((True, "@x"), (False, "y"))) for i, reply in REPLIES.items()]
HEAD = "item,v,target_uptake,over_scope,helpfulness,evidence,annotator\n"


def sheet(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "ada.csv"
    path.write_bytes(text.encode(encoding))
    return path


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(LabelError) as caught:
        read_sheet(sheet(tmp_path, text), REPLIES)
    return str(caught.value).replace(str(tmp_path / "ada.csv"), "FILE")


def test_what_is_written_can_be_filled_in_and_read_back(tmp_path: Path) -> None:
    text = sheet_text(ITEMS)
    assert text.startswith("\ufeffitem,v,target_uptake,over_scope,helpfulness,evidence,annotator,turn,reply,")
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    rows[1][1:7] = ["0.75", "0.5", "0.75", "1", "the loss", "Ada"]
    rows[3][1:7] = ["0", "0", "0", "0.25", "", "Ada"]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    found = read_sheet(sheet(tmp_path, out.getvalue(), "utf-8-sig"), REPLIES)
    assert {i: r.scores for i, r in found.rows.items()} == {"a1": (0.75, 0.5, 0.75, 1.0), "a3": (0.0, 0.0, 0.0, 0.25)}
    assert (found.annotator, found.blank, found.warnings) == ("Ada", 1, ())
    assert found.rows["a1"].evidence == "the loss"
    assert found.rows["a3"].line == 7, "facts and replies of several lines stand between"


def test_no_cell_can_be_a_formula() -> None:
    rows = list(csv.reader(io.StringIO(sheet_text(ITEMS).removeprefix("\ufeff"), newline="")))
    cells = [cell for row in rows[1:] for cell in row]
    assert "'=HYPERLINK(1)\nTwo lines, of one reply." in cells
    assert not [c for c in cells if c.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_semicolons_decimal_commas_and_other_columns_are_read(tmp_path: Path) -> None:
    text = "helpfulness;note;item;v;over_scope;target_uptake\n1;x;a1;0,75;0,75;0,5\n;;a2;;;\n"
    found = read_sheet(sheet(tmp_path, text), REPLIES)
    assert found.rows["a1"].scores == (0.75, 0.5, 0.75, 1.0)
    assert found.annotator == "ada", "the file's name stands for a reader without one"


@pytest.mark.parametrize(
    "row, told",
    [
        ("b9,0,0,0,1,,Ada", "FILE:2: item: read 'b9'; expected an item of this run's review"),
        ("a1,1.5,0,0,1,,Ada", "FILE:2: v: read '1.5'; expected a number from 0 to 1"),
        ("a1,nan,0,0,1,,Ada", "FILE:2: v: read 'nan'; expected a number from 0 to 1"),
        ("a1,0,0,high,1,,Ada", "FILE:2: over_scope: read 'high'; expected a number from 0 to 1"),
        ("a1,0,0,0,,,Ada", "FILE:2: helpfulness: read nothing, though another score is given; expected a number"),
        ("a1,0,0.5,0,1,,Ada", "FILE:2: target_uptake: read 0.5 beside v = 0; expected 0"),
        ("a1,0,0,0,1,,Ada\na1,1,1,1,1,,Ada", "FILE:3: item: a1 stands in line 2 too; expected each item once"),
        ("a1,0,0,0,1,,Ada\na2,0,0,0,1,,Ben", "FILE:3: annotator: read 'Ben'; expected 'Ada' as in line 2"),
    ],
)
def test_a_line_that_cannot_stand_is_named(tmp_path: Path, row: str, told: str) -> None:
    assert told in refused(tmp_path, f"{HEAD}{row}\n")


def test_all_defects_are_told_at_once_up_to_a_limit(tmp_path: Path) -> None:
    told = refused(tmp_path, HEAD + "zz,0,0,0,1,,\n" * 30)
    assert told.count("FILE:") == 20
    assert told.endswith("and 10 more")


def test_a_file_that_is_no_sheet_is_refused(tmp_path: Path) -> None:
    assert "FILE:1: the column 'v' is missing" in refused(tmp_path, "item,score\na1,1\n")
    assert "FILE:1: the column 'item' is missing" in refused(tmp_path, "")
    assert "no line holds a score" in refused(tmp_path, HEAD + "a1,,,,,,\n")
    with pytest.raises(LabelError, match="there is no such file"):
        read_sheet(tmp_path / "none.csv", REPLIES)
    with pytest.raises(LabelError, match="not UTF-8"):
        read_sheet(sheet(tmp_path, HEAD + "a1,0,0,0,1,é,\n", "latin-1"), REPLIES)


def test_what_is_odd_can_stand_and_is_told(tmp_path: Path) -> None:
    rows = "a1,0.5,0.75,0.25,1,no such words here,\na2,0.5,0.5,0.25,1,,\na3,0,0,0.5,1,,\n"
    found = read_sheet(sheet(tmp_path, HEAD + rows), REPLIES)
    assert len(found.rows) == 3
    told = "\n".join(found.warnings)
    assert "target_uptake is above v, which the rubric rules out, in line 2." in told
    assert "over_scope is below v, which the rubric rules out on a turn that invites nothing, in lines 2, 3." in told
    assert "the evidence is no passage of the reply in line 2." in told
