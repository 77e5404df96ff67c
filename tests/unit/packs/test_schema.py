from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytest_hush.bundled import bundled
from pytest_hush.packs import find_pack
from pytest_hush.packs.schema import LINES, PERSONA_FILES, json_schema

SCHEMA: dict[str, Any] = json.loads(bundled("schemas", "pack.schema.json").read_text(encoding="utf-8"))


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def test_the_published_schema_is_the_one_in_code() -> None:
    assert json_schema() == SCHEMA, "write docs/reference/schemas/pack.schema.json anew from json_schema()"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(PERSONA_FILES))
def test_the_starter_pack_fits_the_published_schema(name: str) -> None:
    check = validator(LINES[name].__name__ if name in LINES else "PersonaFile")
    paths = sorted(find_pack("starter").glob(f"*/{name}"))
    assert len(paths) == 10
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            check.validate(json.loads(line))


def test_the_manifest_and_lines_fit_too() -> None:
    root = find_pack("starter")
    validator("ManifestFile").validate(json.loads((root / "manifest.json").read_text(encoding="utf-8")))
    for entry in json.loads((root / "invitation_lines.json").read_text(encoding="utf-8")):
        validator("InvitationLineEntry").validate(entry)


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    line = json.loads((find_pack("starter") / "p01/probes.jsonl").read_text(encoding="utf-8").splitlines()[0])
    for wrong in ({**line, "family": "foo"}, {**line, "note": 1}, {k: v for k, v in line.items() if k != "domain"}):
        assert list(validator("ProbeLine").iter_errors(wrong))
