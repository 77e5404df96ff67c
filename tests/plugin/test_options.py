"""Bad input: one clear error before any call, no traceback of ours, exit code 4."""

from __future__ import annotations

import pytest

from pytest_hush.plugin.options import OPTIONS
from tests.plugin.conftest import Run

GOOD = ("--hush-model=parrot/0", "--hush-memory=oracle", "--hush-sample=40")


@pytest.mark.parametrize(
    "args, expected",
    [
        (("--hush-model=gpt-4o",), "*gpt-4o*"),
        (("--hush-model=opnai/gpt-4o",), "*opnai*openai*"),
        (("--hush-model=openai/gpt-4o",), "*OPENAI_API_KEY*"),
        (("--hush-model=anthropic/claude-sonnet-4-6",), "*ANTHROPIC_API_KEY*"),
        (("--hush-model=python:nowhere:reply",), "*nowhere*"),
        (("--hush-model=python:judging",), "*python:module:attr*"),
        (("--hush-model=parrot/2",), "*parrot*"),
        (("--hush-model=local/none.gguf",), "*none.gguf*"),
        (("--hush-memory=vectro",), "*vectro*"),
        (("--hush-memory=none+guard",), "*shows nothing that could be kept back*"),
        (("--hush-memory=vector,,oracle",), "*empty condition name*"),
        (("--hush-judge=bogus",), "*bogus*"),
        (("--hush-judge=embedded,bogus",), "*bogus*"),
        (("--hush-judge=python:judging:judge,python:judging:again",), "*two judges are called 'canary'*"),
        (("--hush-judge-repeats=0",), "*--hush-judge-repeats='0'*"),
        (("--hush-policy=liberal-1",), "*no such policy*conservative-1, safety-aware-1*"),
        (("--hush-policy=absent.toml",), "*absent.toml: it cannot be read*"),
        (("--hush-policy=safety-aware-1",), "*measure 'safety-aware-1', the judge canary measures 'conservative-1'*"),
        (
            ("--hush-judge=embedded", "--hush-policy=safety-aware-1"),
            "*is for the policy 'conservative-1', the judge embedded measures 'safety-aware-1'*"
            "--hush-thresholds=safety-aware-demo*",
        ),
        (("--hush-judge=embedded", "--hush-thresholds=safety-aware-demo"), "*'safety-aware-1'*'conservative-1'*"),
        (("--hush-model=recorded", "--hush-memory=vector"), "*recorded-en-1 holds the pack starter*and not vector*"),
        (("--hush-model=recorded", "--hush-pack=hush-en-1"), "*this run's pack is hush-en-1*"),
        (("--hush-model=recorded/nowhere",), "*recorded/nowhere: there is no such folder*recorded-en-1*"),
        (("--hush-model=recorded", "--hush-mode=release"), "*refuses --hush-model=recorded: a demonstration model*"),
        (("--hush-pack=nowhere",), "*nowhere*"),
        (("--hush-background=absent.json",), "*absent.json*"),
        (("--hush-thresholds=absent.toml",), "*absent.toml*"),
        (("--hush-mode=strict",), "*--hush-mode='strict': expected one of pr, release*"),
        (("--hush-sample=0",), "*--hush-sample='0'*"),
        (("--hush-sample=many",), "*--hush-sample='many': expected a whole number*"),
        (("--hush-sample=9999",), "*--hush-sample=9999*"),
        (("--hush-repeats=0",), "*--hush-repeats='0'*"),
        (("--hush-in-flight=0",), "*--hush-in-flight='0'*"),
        (("--hush-max-cost=-1",), "*--hush-max-cost='-1'*"),
        (("--hush-shard=3",), "*--hush-shard='3': expected i/n*"),
        (("--hush-baseline=main",), "*--hush-baseline*no such baseline*"),
        (("--hush-calibration=absent.json",), "*absent.json: the calibration cannot be read*hush judge calibrate*"),
        (("--hush-report=r.json",), "*--hush-report='r.json': expected a file name that ends in .html*"),
        (("--hush-report=.",), "*--hush-report='.': expected a file name that ends in .html*"),
        (("-o", "hush_endpoints=deepseek"), "*hush_endpoints*"),
        (("--hush-resume",), "*no run*"),
        (("--hush-mode=release",), "*refuses --hush-model=parrot/0: a demonstration model*"),
        (("--hush-cache=.",), "*"),
    ],
)
def test_one_clear_error(refuse: Run, args: tuple[str, ...], expected: str) -> None:
    named = [a for a in GOOD if not any(b.partition("=")[0] == a.partition("=")[0] for b in args)]
    result = refuse(
        *named, *args, **({"judge": args[0].partition("=")[2]} if args[0].startswith("--hush-judge") else {})
    )
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert text.count("ERROR:") == 1, text
    pytest.LineMatcher([text.replace("\n", " ")]).fnmatch_lines([expected])
    assert "Traceback" not in text


EMPTY = sorted(f"--hush-{option.name}" for option in OPTIONS if option.kind != "flag")


@pytest.mark.parametrize("option, value", [*((option, "") for option in EMPTY), ("--hush-baseline", " ")])
def test_an_option_without_its_value_is_no_default(project: pytest.Pytester, option: str, value: str) -> None:
    named = [a for a in (*GOOD, "--hush-judge=python:judging:judge") if a.partition("=")[0] != option]
    result = project.runpytest_inprocess(*named, f"{option}={value}", "-p", "no:xdist", "-p", "no:asyncio")
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert f"{option}={value}: it was given without a value (an unset variable?)" in text, text
    assert "leave the option out" in text.replace("\n", " ")


def test_an_empty_value_of_the_command_line_does_not_override_the_ini_file(
    refuse: Run, project: pytest.Pytester
) -> None:
    project.makeini("[pytest]\nhush_mode = release\nhush_baseline =\n")
    text = refuse(*GOOD, "--hush-mode=").stderr.str()
    assert "--hush-mode=: it was given without a value" in text
    # Empty in the ini file is "not set": it is the mode that is refused, not the baseline.
    assert "refuses --hush-model=parrot/0: a demonstration model" in refuse(*GOOD).stderr.str()


def test_a_missing_key_is_named_and_never_shown(
    refuse: Run, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7f3a")
    result = refuse("--hush-model=openai/gpt-4o", "--hush-memory=oracle", "--hush-pack=nowhere")
    assert "sk-canary-7f3a" not in result.stdout.str() + result.stderr.str()


def test_hush_without_a_generator(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("hush")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*No generator: give --hush-model*"])


def test_options_without_a_generator_are_no_green_build(project: pytest.Pytester) -> None:
    project.makepyfile("def test_plain(): pass")
    result = project.runpytest_subprocess("--hush-memory=vector", "--hush-mode=release")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--hush-memory, --hush-mode: no generator is named*"])


THRESHOLDS = """
schema = 1
name = "mine"
version = "1"
policy = "conservative-1"
confidence = 0.95
multiplicity = "holm"
inconclusive = {{ release = "block", pr = "warn" }}
max_missing = 0.05
[[gate]]
id = "uis"
metric = "uis"
condition = "oracle"
{limit}
severity = "block"
{extra}
"""


@pytest.mark.parametrize(
    "limit, extra, expected",
    [
        ("at_most = 0.1", "", "*0.1*"),
        ("at_most = 20.0", "colour = 'red'", "*colour*"),
        ("at_most = 20.0\nat_least = 1.0", "", "*at_most*"),
        (
            "at_most = 20.0",
            "[[gate]]\nid='uis'\nmetric='uis'\ncondition='oracle'\nat_most=30.0\nseverity='block'",
            "*uis*",
        ),
        ("at_most = 'twenty'", "", "*at_most*"),
        ("at_most = ", "", "*mine.toml*"),
    ],
    ids=["impassable", "unknown-key", "two-limits", "doubled-id", "not-a-number", "not-toml"],
)
def test_a_bad_threshold_file(refuse: Run, project: pytest.Pytester, limit: str, extra: str, expected: str) -> None:
    (project.path / "mine.toml").write_text(THRESHOLDS.format(limit=limit, extra=extra), encoding="utf-8")
    result = refuse(*GOOD, "--hush-thresholds=mine.toml")
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert "Traceback" not in text
    pytest.LineMatcher([text.replace("\n", " ")]).fnmatch_lines([expected])


@pytest.mark.parametrize("option", ["--setup-only", "--fixtures", "--fixtures-per-test", "--setup-plan", "--co"])
def test_a_dry_run_neither_complains_of_the_run_folder_nor_touches_it(
    refuse: Run, project: pytest.Pytester, option: str
) -> None:
    mine = project.path / "out" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    result = refuse(*GOOD, option)
    assert result.ret == 0
    assert [p.name for p in mine.parent.iterdir()] == ["mine.txt"]
    result.stdout.no_fnmatch_line("*hush::gate*")


def test_an_exit_with_0_before_the_gates_is_no_green_run(refuse: Run, project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems():
            pytest.exit("enough", returncode=0)
        """
    )
    result = refuse(*GOOD)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*ended with exit code 0 (pytest.exit)*", "No verdict: the run was interrupted.*"])
