"""A policy: the norm that a judge applies. Another norm is another file, not another program.

The file says in words what gives a reply reason to use history, which rubric puts that to a model, what counts as
sensitive, and, for judges without a language model, which uses are warranted (``docs/guide/judges.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from pytest_hush.errors import UsageError
from pytest_hush.judges.rubric import Rubric, bundled_rubrics, load_rubric
from pytest_hush.model import JudgeView, digest
from pytest_hush.text import has_stem, words

DEFAULT: Final = "conservative-1"


@dataclass(frozen=True, slots=True)
class Sensitive:
    """What `uis_sensitive` counts: disclosures of these categories, and background facts of these kinds."""

    categories: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Warranted:
    """A health risk and what runs into it, each as stems; `why` is for the rationale.

    `names`: further stems that a warranted sentence may hold, such as what an allergy is against.
    """

    disclosure: tuple[str, ...]
    turn: tuple[str, ...]
    names: tuple[str, ...]
    why: str

    def holds(self, view: JudgeView) -> bool:
        """True when the marked disclosure tells such a risk and the turn would run into it."""
        told = words(" ".join((view.disclosure, *view.core, *view.synonyms)))
        asked = words(view.probe)
        return any(has_stem(told, s) for s in self.disclosure) and any(has_stem(asked, s) for s in self.turn)


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy file. `id` is ``name@<first 12 hex digits of a hash over its content>``, comments left out.

    `thresholds` names the gate file that goes with it, or is empty.
    """

    name: str
    version: str
    title: str
    warrant: str
    rubric: Rubric
    sensitive: Sensitive
    thresholds: str
    hash: str
    warranted: tuple[Warranted, ...] = field(default=())

    @property
    def id(self) -> str:
        return f"{self.name}@{self.hash[:12]}"

    def warrants(self, view: JudgeView) -> Warranted | None:
        """The first rule that holds for the view. None on a turn that invites history: there use is asked for."""
        return None if view.invited else next((rule for rule in self.warranted if rule.holds(view)), None)


def policy_name(policy: str) -> str:
    """The name in ``name@hash``: what a threshold file is written for."""
    return policy.partition("@")[0]


def is_for(wanted: str, measured: str) -> bool:
    """Whether the ``policy`` of a threshold file, a name or ``name@hash``, is that of `measured`."""
    return wanted in (measured, policy_name(measured))


@cache
def load_policy(source: str = DEFAULT) -> Policy:
    """The bundled policy `source`, or the one in a ``.toml`` file; its rubric lies beside it, or is a bundled one.

    Raises `UsageError` that names the file and the key, or the policies that exist.
    """
    from pytest_hush.judges.policy_file import parse

    path = Path(source)
    bundled = {p.name.removesuffix(".toml"): p for p in _bundled().iterdir() if p.name.endswith(".toml")}
    own = path.suffix == ".toml" or path.name != source
    if not own and source not in bundled:
        raise UsageError(
            f"--hush-policy={source!r}: no such policy. Expected the path of a .toml file, or one of: "
            f"{', '.join(sorted(bundled))}."
        )
    try:
        text = path.read_text(encoding="utf-8") if own else bundled[source].read_text(encoding="utf-8")
        file, raw = parse(text)
    except OSError as error:
        raise UsageError(f"--hush-policy={source}: it cannot be read: {error.strerror}.") from None
    except ValueError as error:  # a text that is not UTF-8 among them
        raise UsageError(
            f"--hush-policy={source}: {error}. docs/guide/judges.md describes every key, under Policies."
        ) from None
    return Policy(
        name=file.name,
        version=file.version,
        title=file.title,
        warrant=file.warrant.strip(),
        rubric=_rubric(path if own else None, file.rubric),
        sensitive=Sensitive(
            tuple(dict.fromkeys(file.sensitive.categories)), tuple(dict.fromkeys(file.sensitive.facts))
        ),
        thresholds=file.thresholds,
        hash=digest(raw),
        warranted=tuple(Warranted(tuple(w.disclosure), tuple(w.turn), tuple(w.names), w.why) for w in file.warranted),
    )


def _bundled() -> resources.abc.Traversable:
    return resources.files("pytest_hush.judges") / "policies"


def _rubric(policy: Path | None, named: str) -> Rubric:
    """The rubric that the file `policy` names, with or without ``.md``: the file beside it, else a bundled one."""
    name = named.removesuffix(".md")
    if policy is None:
        return load_rubric(name)
    beside = policy.parent / f"{name}.md"
    try:
        return Rubric(name, beside.read_text(encoding="utf-8").replace("\r\n", "\n"))
    except FileNotFoundError:
        if name in bundled_rubrics():
            return load_rubric(name)
        raise UsageError(
            f"--hush-policy={policy}: rubric = {named!r}: there is no file {beside.absolute()}, and no bundled rubric "
            f"of that name ({', '.join(bundled_rubrics())}). Put the rubric beside the policy, or name a bundled one; "
            f"docs/guide/judges.md shows how to begin with a copy, under Policies."
        ) from None
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"--hush-policy={policy}: rubric = {named!r}: {beside} cannot be read: {told}.") from None
