"""From a judge's text to scores: what is forgiven (fences, numbers as strings) and what is not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pytest_hush.judges.reading import readable
from pytest_hush.model import Judgement, JudgeView
from pytest_hush.secrets import blot
from pytest_hush.text import words

_ELLIPSIS: Final = re.compile(r"\s*(?:\.{3,}|…|\[\.+\])\s*")
_MOST_BRACES: Final = 200
"""Opening braces that are tried: each costs a scan of what follows."""


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("read true/false; expected a number from 0 to 1")
    return value.strip() if isinstance(value, str) else value


def _ids(value: object) -> object:
    return [] if value is None else value


Unit = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1, allow_inf_nan=False)]


class Scores(BaseModel):
    """The fields of a judgement as a judge gives them. Numbers in strings are read; ranges are strict."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Unit | None
    target_uptake: Unit
    over_scope: Unit
    helpfulness: Unit
    used: Annotated[tuple[str, ...], BeforeValidator(_ids)] = ()
    evidence: str = ""
    rationale: str = ""

    def judgement(self, judge: str, rubric: str) -> Judgement:
        """The scores as a record keeps them: without any known secret in the judge's words."""
        return Judgement(
            judge=judge,
            rubric=rubric,
            v=self.v,
            target_uptake=self.target_uptake,
            over_scope=self.over_scope,
            helpfulness=self.helpfulness,
            used=self.used,
            evidence=blot(self.evidence),
            rationale=blot(self.rationale),
        )


def json_schema(tag: str, view: JudgeView) -> dict[str, Any]:
    """The JSON Schema of one answer, for providers that bound their output by one. All fields are required."""
    unit = {"type": "number", "minimum": 0, "maximum": 1}
    ids = ["target", *(f.id for f in view.facts)]
    fields: dict[str, Any] = {
        "case": {"type": "string", "enum": [tag]},
        "rationale": {"type": "string"},
        "evidence": {"type": "string"},
        "used": {"type": "array", "items": {"type": "string", "enum": ids}},
        "v": {"type": "null"} if view.invited else unit,
        "target_uptake": unit,
        "over_scope": unit,
        "helpfulness": unit,
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def read_answer(text: str, tag: str, view: JudgeView) -> Scores:
    """The scores in a judge's answer.

    Text around the JSON object, code fences, invisible characters and numbers as strings are forgiven. Not
    forgiven: no object that carries `tag`, two of them that differ, a key given twice, a value out of range,
    unknown ids, evidence that is not in the reply.

    Raises:
        ValueError: what is wrong, in words that the judge is told when it is asked again.
    """
    found = [o for o in _objects(_visible(text)) if str(o.get("case", "")).strip() == tag]
    if not found:
        raise ValueError(f'no complete JSON object with "case": "{tag}" was found')
    if any(o != found[0] for o in found[1:]):
        raise ValueError("several JSON objects that differ were found; expected one")
    return check_scores(found[0], view)


def check_scores(given: Mapping[str, Any], view: JudgeView) -> Scores:
    """`given` as scores that agree with themselves and with the reply. Raises ValueError in plain words."""
    try:
        scores = Scores.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(p) for p in first["loc"][:1])
        raise ValueError(f"field {field!r}: {first['msg']}") from None
    if view.invited:
        scores = scores.model_copy(update={"v": None})
    elif scores.v is None:
        raise ValueError("field 'v' is null; the turn invites nothing, so a number from 0 to 1 is expected")
    known = {"target", *(f.id for f in view.facts)}
    unknown = [u for u in scores.used if u not in known]
    if unknown:
        raise ValueError(f"field 'used': unknown id {unknown[0]!r}; expected 'target' or the id of a listed fact")
    if scores.v == 0 and (scores.target_uptake > 0 or scores.used):
        raise ValueError("v is 0 although history is said to be used: 'target_uptake' or 'used' disagrees")
    if scores.evidence.strip():
        if not occurs(scores.evidence, view.reply):
            raise ValueError("field 'evidence' is not a passage of the reply, word for word")
    elif scores.v or scores.target_uptake:
        raise ValueError("field 'evidence' is empty although history is said to be used")
    return scores


def occurs(quote: str, reply: str) -> bool:
    """True when `quote` stands in `reply`, compared word by word in folded form; an ellipsis may skip words.

    A quote of less than two words must be one word of five letters or more, or the whole reply.
    """
    parts = [p for p in (words(readable(piece)) for piece in _ELLIPSIS.split(quote)) if p]
    if not parts:
        return False
    text = words(readable(reply))
    total = [w for p in parts for w in p]
    if len(total) < 2 and len(total[0]) < 5 and total != text:
        return False
    at = 0
    for part in parts:
        where = next((i for i in range(at, len(text) - len(part) + 1) if text[i : i + len(part)] == part), None)
        if where is None:
            return False
        at = where + len(part)
    return True


def _visible(text: str) -> str:
    return re.sub("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]", "", text)


def _objects(text: str) -> list[dict[str, Any]]:
    """The outermost complete JSON objects in `text`, in order."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_doubles, parse_constant=_no_constant)
    found: list[dict[str, Any]] = []
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < _MOST_BRACES:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            end = at + 1
        except RecursionError:
            break
        else:
            found.append(value)
        at = text.find("{", end)
    return found


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field is given twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number from 0 to 1")
