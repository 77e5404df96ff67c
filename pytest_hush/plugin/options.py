"""The options of a run: one table for the command line, its ini twins and their meaning."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_hush.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_hush.guard import GuardSettings
    from pytest_hush.models.settings import Endpoint


@dataclass(frozen=True, slots=True)
class _Option:
    name: str
    help: str
    kind: Literal["text", "list", "flag"] = "text"
    default: str = ""
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()


OPTIONS: tuple[_Option, ...] = (
    _Option(
        "model",
        "the generator under test: openai/…, anthropic/…, ENDPOINT/…, local, local/PATH.gguf, parrot, parrot/DEGREE, "
        "recorded, recorded/FOLDER, python:MODULE:ATTR or custom (from the fixture hush_model); repeat for several",
        "list",
        metavar="SPEC",
    ),
    _Option(
        "memory",
        "conditions beside the reference `none`: vector, full-context, mem0, a-mem, memu, oracle, neutral, "
        "irrelevant-sensitive, assistant, python:MODULE:ATTR, custom; NAME+boundary, NAME+shared, NAME+guard, "
        "NAME+revoked; comma list or repeated",
        "list",
        metavar="NAMES",
    ),
    _Option(
        "judge",
        "who scores the replies: embedded, PROVIDER/NAME (an LLM judge), trace (the parrot's own trace), "
        "python:MODULE:ATTR, custom; comma list or repeated for several, the first one's scores count unless the gate "
        "file says otherwise (default: openai/gpt-4o when OPENAI_API_KEY is set and no generator is a demonstration "
        "model, else embedded)",
        "list",
        metavar="SPECS",
    ),
    _Option(
        "judge-repeats",
        "how often a judge that asks a model is asked about each reply; every draw is kept (default: 1)",
        default="1",
        metavar="N",
    ),
    _Option(
        "policy",
        "the norm that the judges apply: conservative-1, safety-aware-1 or a TOML file (default: conservative-1)",
        metavar="NAME|FILE",
    ),
    _Option(
        "memory-model",
        "the model that memory systems extract with (default: openai/gpt-4o-mini when OPENAI_API_KEY is set and no "
        "generator is a demonstration model, else none: turns are stored as they are)",
        metavar="SPEC",
    ),
    _Option("pack", "the probe pack: a bundled name or a folder (default: starter)", default="starter", metavar="PACK"),
    _Option(
        "background", "plant the pack's disclosures into the dialogues of this file (LoCoMo and others)", metavar="FILE"
    ),
    _Option("background-sensitive", "labels of turns already sensitive in the background (TSV)", metavar="FILE"),
    _Option(
        "thresholds", "the gate file: a bundled name or a TOML file (default: demo)", default="demo", metavar="FILE"
    ),
    _Option(
        "mode",
        "what an inconclusive gate does, and whether demonstration models are accepted (default: pr)",
        default="pr",
        choices=("pr", "release"),
    ),
    _Option(
        "baseline",
        "the run to compare with, as a rule the main branch's: a run folder, a records file, or what `hush baseline "
        "save` wrote",
        metavar="PATH",
    ),
    _Option(
        "anchor", "a second run to compare with, as a rule the last release's: small losses add up", metavar="PATH"
    ),
    _Option(
        "sample",
        "plan only N probes, balanced over persona and family, drawn by the seed; gates are judged on that plan",
        metavar="N",
    ),
    _Option(
        "two-look",
        "measure a balanced quarter of the plan first, judge it at a fifth of the error rate, and go on only for gates "
        "that it left open",
        "flag",
    ),
    _Option(
        "calibration",
        "what `hush judge calibrate` wrote of the judge: a gate file can require one (min_alpha); repeat for several",
        "list",
        metavar="FILE",
    ),
    _Option(
        "invitations",
        "also put the invited twin of each planned probe that the pack has one for: the same turn and a line that asks "
        "for earlier context; a sample then holds one such probe of each persona and family at least, and every "
        "positive control",
        "flag",
    ),
    _Option("repeats", "how many times each case is measured (default: 1)", default="1", metavar="N"),
    _Option("seed", "seed of the sample and of the models that take one (default: 0)", default="0", metavar="N"),
    _Option(
        "in-flight", "upper limit of concurrent calls, shared by all workers (default: 16)", default="16", metavar="N"
    ),
    _Option("timeout", "seconds after which one request is given up (default: 120)", default="120", metavar="S"),
    _Option(
        "deadline",
        "seconds after which one call, retries included, is given up (default: 600)",
        default="600",
        metavar="S",
    ),
    _Option(
        "max-cost", "stop before the call that could bring the run's cost over this many US dollars", metavar="USD"
    ),
    _Option("max-tokens", "output tokens of a reply (default: 800; local models: 256)", metavar="N"),
    _Option("out", "run folder (default: .hush/runs/TIME-PLAN under the rootdir)", metavar="DIR"),
    _Option(
        "cache", "response cache: a file, or `off` (default: .hush/cache.sqlite under the rootdir)", metavar="FILE"
    ),
    _Option("resume", "finish the interrupted run in --hush-out, or the last one", "flag"),
    _Option("shard", "measure only shard i of n of the plan; its gates are skipped", metavar="i/n"),
    _Option("report", "write an HTML report: one file that loads nothing", metavar="FILE.html"),
    _Option(
        "redact", "keep disclosures, memory entries and replies out of every artefact but the local records", "flag"
    ),
    _Option("explain-misses", "say for each cache miss which field differed from the nearest stored answer", "flag"),
    _Option("allow-no-verdict", "exit with 0 when every gate that blocks was skipped", "flag"),
    _Option("model-base-url", "base URL for the generators of openai/… and anthropic/…", metavar="URL"),
    _Option("judge-base-url", "base URL for the judge", metavar="URL"),
    _Option("memory-base-url", "base URL for --hush-memory-model", metavar="URL"),
)


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("hush", "pytest-hush: does memory stay silent when nobody asked?")
    for option in OPTIONS:
        flag, dest = f"--hush-{option.name}", _dest(option)
        text = option.help.replace("%", "%%")
        if option.kind == "flag":
            group.addoption(flag, dest=dest, action="store_true", default=None, help=text)
            parser.addini(dest, f"default of {flag}", type="bool", default=False)
        elif option.kind == "list":
            group.addoption(flag, dest=dest, action="append", default=None, metavar=option.metavar, help=text)
            parser.addini(dest, f"default of {flag}", type="linelist", default=[])
        else:
            metavar = "|".join(option.choices) if option.choices else option.metavar
            group.addoption(flag, dest=dest, default=None, metavar=metavar, help=text)
            parser.addini(dest, f"default of {flag}", type="string", default="")
    parser.addini(
        "hush_endpoints",
        "OpenAI-compatible servers for --hush-model=NAME/MODEL, one a line: NAME = URL [VARIABLE of the key] [JSON]",
        type="linelist",
        default=[],
    )


def _dest(option: _Option) -> str:
    return f"hush_{option.name.replace('-', '_')}"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one run, checked. Paths are absolute; `rootpath` is pytest's rootdir."""

    rootpath: Path
    model: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()
    judge_repeats: int = 1
    policy: str = ""
    memory_model: str = ""
    pack: str = "starter"
    background: Path | None = None
    background_sensitive: Path | None = None
    thresholds: str = "demo"
    mode: Literal["pr", "release"] = "pr"
    baseline: Path | None = None
    anchor: Path | None = None
    calibration: tuple[Path, ...] = ()
    sample: int | None = None
    two_look: bool = False
    invitations: bool = False
    repeats: int = 1
    seed: int = 0
    in_flight: int = 16
    timeout: float = 120.0
    deadline: float = 600.0
    max_cost: float | None = None
    max_tokens: int | None = None
    out: Path | None = None
    cache: Path | None = None
    resume: bool = False
    shard: str = ""
    report: Path | None = None
    redact: bool = False
    explain_misses: bool = False
    allow_no_verdict: bool = False
    model_base_url: str = ""
    judge_base_url: str = ""
    memory_base_url: str = ""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    memory_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Base name of a memory -> its table of the project's pyproject.toml."""
    guard: GuardSettings | None = None
    """The settings of ``+guard``; None: its defaults."""

    @property
    def cache_folder(self) -> Path:
        """Where shared caches live when no file is named: ``.hush`` under the rootdir."""
        return self.cache.parent if self.cache is not None else self.rootpath / ".hush"


def model_given(config: pytest.Config) -> bool:
    """True when a generator is named on the command line or in the ini file."""
    return bool(config.getoption("hush_model") or config.getini("hush_model"))


def given_options(config: pytest.Config) -> list[str]:
    """The hush options that stand on the command line."""
    return [f"--hush-{o.name}" for o in OPTIONS if config.getoption(_dest(o)) is not None]


def read_options(config: pytest.Config) -> Options:
    """The checked options of `config`: command line first, then the ini file, then the default.

    Raises `UsageError` naming the option, what was read and what was expected.
    """
    from pytest_hush.memories.registry import BUILT_IN
    from pytest_hush.models.settings import parse_endpoints
    from pytest_hush.plugin.memory_settings import read_guard_settings, read_memory_settings

    raw: dict[str, Any] = {}
    for option in OPTIONS:
        value = config.getoption(_dest(option))
        _refuse_empty(option, value)
        if value is None:
            value = config.getini(_dest(option))
        raw[option.name] = value if option.kind != "text" else (str(value or "").strip() or option.default)
        if option.choices and raw[option.name] not in option.choices:
            raise UsageError(f"--hush-{option.name}={raw[option.name]!r}: expected one of {', '.join(option.choices)}.")
    invocation = Path(config.invocation_params.dir)
    cache: Path | None = config.rootpath / ".hush" / "cache.sqlite"
    if raw["cache"]:
        cache = None if raw["cache"] == "off" else _path(raw["cache"], invocation)
    return Options(
        rootpath=config.rootpath,
        model=_distinct(raw["model"]),
        memory=_distinct(raw["memory"]),
        judge=_distinct(part for value in raw["judge"] for part in value.split(",")),
        judge_repeats=_integer("judge-repeats", raw["judge-repeats"], 1),
        policy=str(_path(raw["policy"], invocation)) if raw["policy"].endswith(".toml") else raw["policy"],
        memory_model=raw["memory-model"],
        pack=raw["pack"],
        background=_path(raw["background"], invocation) if raw["background"] else None,
        background_sensitive=_path(raw["background-sensitive"], invocation) if raw["background-sensitive"] else None,
        thresholds=raw["thresholds"],
        mode=raw["mode"],
        baseline=_path(raw["baseline"], invocation) if raw["baseline"] else None,
        anchor=_path(raw["anchor"], invocation) if raw["anchor"] else None,
        calibration=tuple(_path(text, invocation) for text in _distinct(raw["calibration"])),
        sample=_integer("sample", raw["sample"], 1) if raw["sample"] else None,
        two_look=bool(raw["two-look"]),
        invitations=bool(raw["invitations"]),
        repeats=_integer("repeats", raw["repeats"], 1),
        seed=_integer("seed", raw["seed"], 0),
        in_flight=_integer("in-flight", raw["in-flight"], 1),
        timeout=_number("timeout", raw["timeout"]),
        deadline=_number("deadline", raw["deadline"]),
        max_cost=_number("max-cost", raw["max-cost"]) if raw["max-cost"] else None,
        max_tokens=_integer("max-tokens", raw["max-tokens"], 1) if raw["max-tokens"] else None,
        out=_path(raw["out"], invocation) if raw["out"] else None,
        cache=cache,
        resume=bool(raw["resume"]),
        shard=raw["shard"],
        report=_page(raw["report"], invocation) if raw["report"] else None,
        redact=bool(raw["redact"]),
        explain_misses=bool(raw["explain-misses"]),
        allow_no_verdict=bool(raw["allow-no-verdict"]),
        model_base_url=raw["model-base-url"],
        judge_base_url=raw["judge-base-url"],
        memory_base_url=raw["memory-base-url"],
        endpoints=parse_endpoints(config.getini("hush_endpoints")),
        memory_settings=read_memory_settings(config.rootpath, BUILT_IN),
        guard=read_guard_settings(config.rootpath),
    )


def _refuse_empty(option: _Option, value: Any) -> None:
    """An option of the command line without its value is a mistake: the default would be taken in silence."""
    texts = [] if value is None or option.kind == "flag" else value if option.kind == "list" else [value]
    for text in texts:
        if not str(text).strip(" \t\r\n,"):
            raise UsageError(
                f"--hush-{option.name}={text}: it was given without a value (an unset variable?). Give one, or leave "
                f"the option out: then the ini file or the default holds."
            )


def _distinct(values: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v.strip() for v in values if v.strip()))


def _path(text: str, folder: Path) -> Path:
    return Path(os.path.normpath(folder / Path(text).expanduser()))


def _page(text: str, folder: Path) -> Path:
    """Where the page goes. Refused before anything is measured, since it is written after everything is."""
    path = _path(text, folder)
    if path.suffix.lower() not in (".html", ".htm") or path.is_dir():
        raise UsageError(f"--hush-report={text!r}: expected a file name that ends in .html.")
    return path


def _integer(name: str, text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise UsageError(f"--hush-{name}={text!r}: expected a whole number of {least} or more.")
    return number


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise UsageError(f"--hush-{name}={text!r}: expected a number above 0.")
    return number
