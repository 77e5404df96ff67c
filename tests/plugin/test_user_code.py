"""A user's own tests: fixtures to read, fixtures and hooks to override."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.conftest import Run, read_lines, read_result

PARROT = ("--hush-memory=oracle", "--hush-sample=40")


def test_own_tests_stand_in_for_the_built_in_ones(run: Run, project: pytest.Pytester) -> None:
    project.makepyfile(
        test_mine="""
        def test_record(hush_record, hush_case, hush_plan):
            assert hush_record.probe_id == hush_case.probe_id
            assert len(hush_plan.probe_cases()) == 80

        def test_score(hush_score):
            assert 0 <= hush_score.helpfulness <= 1
            assert hush_score.v in (0, 1)

        def test_unrelated():
            raise RuntimeError("left out")
        """,
        test_other="raise RuntimeError('this file asks for no case and is not even imported')",
    )
    result = run("--hush-model=parrot/0", *PARROT)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*hush::test_case*")
    assert len({r["key"] for r in read_lines(project.path / "out")}) == 80


def test_paths_and_hush_mix(hush: Run, project: pytest.Pytester) -> None:
    project.makepyfile(test_other="def test_plain(): pass")
    result = hush("test_other.py", "hush", "--hush-model=parrot/0", *PARROT, "-v")
    result.stdout.fnmatch_lines(["test_other.py::test_plain PASSED*", "hush::test_case*PASSED*"])


def test_a_path_without_a_case_is_an_error(hush: Run, project: pytest.Pytester) -> None:
    project.makepyfile(test_other="def test_plain(): pass")
    result = hush("test_other.py", "--hush-model=parrot/0", *PARROT)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "no test under these paths asks for hush_case" in result.stdout.str() + result.stderr.str()
    assert not (project.path / "out").exists()


def test_a_path_to_own_tests_measures_and_judges(hush: Run, project: pytest.Pytester) -> None:
    project.makepyfile(test_mine="def test_score(hush_score): assert hush_score.v == 0")
    result = hush("test_mine.py", "--hush-model=parrot/0", *PARROT, "-v")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["test_mine.py::test_score[[]*PASSED*", "hush::gate*PASSED*"])


def test_a_case_can_be_run_by_its_id(hush: Run, project: pytest.Pytester) -> None:
    listing = hush("--hush-model=parrot/0", *PARROT, "--collect-only", "-q")
    nodeid = next(line for line in listing.outlines if line.startswith("hush::test_case[parrot/0-oracle"))
    result = hush(nodeid, "--hush-model=parrot/0", *PARROT, "--hush-allow-no-verdict")
    assert result.ret == 0
    assert len(read_lines(project.path / "out")) == 1
    assert {v["outcome"] for v in read_result(project.path / "out")["verdicts"]} == {"skipped"}


MODEL = """
import pytest

class Confessor:
    def reply(self, prompt):
        return prompt.messages[-1].content

@pytest.fixture(scope="session")
def hush_model():
    return Confessor()
"""


def test_the_model_fixture_is_the_custom_model(run: Run, project: pytest.Pytester) -> None:
    project.makeconftest(MODEL)
    result = run("--hush-model=custom", *PARROT)
    assert result.ret == 1
    scores = {(r["model"], r["condition"], r["judgements"][0]["v"]) for r in read_lines(project.path / "out")}
    assert scores == {("custom", "none", 0.0), ("custom", "oracle", 1.0)}


@pytest.mark.parametrize(
    "fixture, name, given",
    [
        ("hush_model", "--hush-model=custom", "--hush-model is parrot/0"),
        ("hush_memory", "--hush-memory=custom", "--hush-memory is oracle"),
        ("hush_judge", "--hush-judge=custom", "--hush-judge is canary"),
        ("hush_assistant", "--hush-memory=assistant", "--hush-memory is oracle"),
    ],
)
def test_a_fixture_never_replaces_what_is_named(
    refuse: Run, project: pytest.Pytester, fixture: str, name: str, given: str
) -> None:
    project.makeconftest(MODEL.replace("def hush_model", f"def {fixture}"))
    result = refuse("--hush-model=parrot/0", *PARROT)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert f"The fixture {fixture} is defined, and this run does not name it: {given}." in text
    assert name in text
    assert "or remove the fixture" in text


CLOSED = """
import pytest

@pytest.fixture(scope="session")
def notes():
    return "I would start with a short list."

@pytest.fixture(scope="session")
def hush_assistant(notes):
    return lambda sessions, message: " ".join([notes, *(t.text for s in sessions for t in s.turns)])
"""
OF_ASSISTANT = ("--hush-model=custom", "--hush-memory=assistant", "--hush-sample=40")


@pytest.fixture
def below(project: pytest.Pytester) -> pytest.Pytester:
    """A project whose assistant is defined in ``tests/conftest.py``, below its ini file."""
    project.makeini("[pytest]")
    folder = project.mkdir("tests")
    (folder / "conftest.py").write_text(CLOSED)
    (folder / "test_own.py").write_text("def test_own(hush_record): assert hush_record.reply")
    return project


@pytest.mark.parametrize("paths", [(), ("tests",), ("tests", "hush"), ("hush",)])
def test_a_fixture_below_the_root_is_seen_from_above(
    below: pytest.Pytester, refuse: Run, paths: tuple[str, ...]
) -> None:
    result = refuse(*paths, *OF_ASSISTANT, "--collect-only", "-q")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["hush::test_positive_control*"])


def test_a_fixture_below_the_root_is_measured_from_inside(
    below: pytest.Pytester, hush: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    below.makepyfile(**{"tests/judging": (below.path / "judging.py").read_text()})
    (below.path / "tests" / "test_own.py").unlink()
    monkeypatch.chdir(below.path / "tests")
    result = hush(*OF_ASSISTANT)
    assert result.ret == 1, result.stdout.str()  # it tells everything
    records = read_lines(below.path / "tests" / "out")
    assert {(r["model"], r["condition"]) for r in records} == {("custom", "none"), ("custom", "assistant")}
    assert all(r["reply"].startswith("I would start") for r in records)


def test_two_definitions_of_a_fixture_are_refused_by_name(below: pytest.Pytester, refuse: Run) -> None:
    below.makeconftest(CLOSED)
    result = refuse("tests", *OF_ASSISTANT)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert "hush_assistant is defined 2 times: in conftest.py, tests/conftest.py." in text


def test_a_fixture_of_a_test_module_is_seen_by_the_positive_controls(below: pytest.Pytester, refuse: Run) -> None:
    module = below.path / "tests" / "test_own.py"
    module.write_text(CLOSED + module.read_text())
    (below.path / "tests" / "conftest.py").unlink()
    result = refuse("tests", *OF_ASSISTANT, "--collect-only", "-q")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["hush::test_positive_control*"])


def test_the_example_of_an_assistant_runs_in_its_place(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "examples" / "own_assistant"
    out = f"--hush-out={tmp_path / 'out'}"
    command = [sys.executable, "-m", "pytest", *OF_ASSISTANT, out, "--hush-cache=off", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {r["condition"] for r in read_lines(tmp_path / "out")} == {"none", "assistant"}


def test_custom_needs_its_fixture(hush: Run) -> None:
    result = hush("--hush-model=custom", *PARROT)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "--hush-model=custom takes its object from the fixture hush_model" in text
    assert "interrupted" not in text


def test_an_override_must_be_session_scoped(hush: Run, project: pytest.Pytester) -> None:
    project.makeconftest(MODEL.replace('(scope="session")', ""))
    result = hush("--hush-model=parrot/0", *PARROT)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "scope" in result.stdout.str() + result.stderr.str()


def test_a_memory_from_a_callable_fixture(run: Run, project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def hush_memory():
            def last_words(sessions, question):
                planted = [t for s in sessions for t in s.turns if t.role == "user"]
                return [{"id": t.id, "text": t.text, "sources": [s.id]} for s in sessions for t in s.turns[:1]][:5]
            return last_words
        """
    )
    run("--hush-model=parrot/0.5", "--hush-memory=custom", "--hush-sample=40")
    rows = [r for r in read_lines(project.path / "out") if r["condition"] == "custom" and r["status"] != "unplanted"]
    controls = [r for r in read_lines(project.path / "out") if r["probe_id"].count("-c")]
    assert rows or controls


ASSISTANT = """
import pytest

@pytest.fixture(scope="session")
def hush_assistant():
    async def answer(sessions, message):
        notes = " ".join(t.text for s in sessions for t in s.turns if t.role == "user") if {remembers} else ""
        return "I would start with a short list. " + (notes if {asked} else "")
    return answer
"""


@pytest.mark.parametrize(
    "hook, expected",
    [
        ("def pytest_hush_model(spec): return 5", "*int*"),
        ("def pytest_hush_model(spec): raise RuntimeError('no')", "*pytest_hush_model failed with RuntimeError: no*"),
        ("def pytest_hush_plan(plan): return 5", "*pytest_hush_plan returned a int*"),
    ],
)
def test_a_broken_hook_is_one_clear_error(hush: Run, project: pytest.Pytester, hook: str, expected: str) -> None:
    project.makeconftest(hook)
    result = hush("--hush-model=parrot/0", *PARROT)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert "Traceback" not in text
    pytest.LineMatcher([text.replace("\n", " ")]).fnmatch_lines([expected])


@pytest.mark.parametrize("remembers, outcome", [(True, "pass"), (False, "invalid")])
def test_a_closed_assistant_must_answer_the_positive_controls(
    hush: Run, project: pytest.Pytester, remembers: bool, outcome: str
) -> None:
    # It answers direct questions ("Which ...", "What ...") from memory, and is silent in every other turn.
    asked = "message.split()[0] in ('What', 'Which', 'Who', 'Where', 'When', 'How')"
    project.makeconftest(ASSISTANT.format(remembers=remembers, asked=asked))
    hush("--hush-model=custom", "--hush-memory=assistant", "--hush-sample=40")
    records = read_lines(project.path / "out")
    closed = [r for r in records if r["condition"] == "assistant"]
    assert len(closed) > 40
    assert all(r["exposure"] == {"exact": None, "residue": None, "ambient": None} for r in closed)
    verdicts = {v["gate"]: v["outcome"] for v in read_result(project.path / "out")["verdicts"]}
    assert verdicts["uis"] == outcome, verdicts


def test_hooks_in_conftest_bring_models_memories_and_judges(hush: Run, project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        from pytest_hush import Context, Entry, Judgement

        class Echo:
            name, version = "mine/echo", "1"
            def reply(self, prompt):
                from pytest_hush import Reply
                return Reply(prompt.messages[-1].content.splitlines()[-1])

        class Overlap:
            name, version = "overlap", "1"
            def context(self, history, question):
                asked = set(question.lower().split())
                turns = [(s, t) for s in history.sessions for t in s.turns]
                turns.sort(key=lambda st: -len(asked & set(st[1].text.lower().split())))
                return Context(tuple(Entry(t.id, t.text, (s.id,), (t.id,)) for s, t in turns[:5]), label="overlap")

        class Zero:
            name, version, rubric, policy = "zero", "1", "zero@1", "conservative-1"
            def judge(self, view):
                return Judgement("zero", "zero@1", 0.0, 0.0, 0.0, 1.0)

        def pytest_hush_model(spec): return Echo() if spec == "mine/echo" else None
        def pytest_hush_memory(condition): return Overlap() if condition.name == "overlap" else None
        def pytest_hush_judge(spec): return Zero() if spec == "zero" else None
        def pytest_hush_record(record):
            with open("seen.txt", "a") as file: file.write(record.probe_id + "\\n")
        def pytest_hush_verdicts(verdicts, plan):
            open("verdicts.txt", "w").write(str(len(verdicts)))
        """
    )
    result = hush("--hush-model=mine/echo", "--hush-memory=overlap", "--hush-sample=40", judge="zero")
    assert result.ret == 0, result.stdout.str()
    records = read_lines(project.path / "out")
    assert len((project.path / "seen.txt").read_text().splitlines()) == len(records) > 80
    assert int((project.path / "verdicts.txt").read_text()) > 0
    assert {r["subject"]["model"] for r in read_lines(project.path / "out")} == {"mine/echo"}


def test_without_a_generator_a_test_of_cases_is_skipped_with_the_reason(project: pytest.Pytester) -> None:
    project.makepyfile("def test_mine(hush_score): assert hush_score.v == 0")
    result = project.runpytest_subprocess("-rs", "-p", "no:xdist")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no generator is named: give --hush-model*"])


def test_a_generator_named_in_the_ini_file_runs_the_users_tests(project: pytest.Pytester) -> None:
    project.makeini(
        "[pytest]\nhush_model = parrot/0\nhush_memory = oracle\nhush_sample = 40\nhush_judge = python:judging:judge\n"
    )
    project.makepyfile("def test_mine(hush_score): assert hush_score.v == 0", test_other="def test_plain(): pass")
    result = project.runpytest_subprocess("-p", "no:xdist", "-v")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["test_other.py::test_plain PASSED*", "hush::gate*PASSED*"])
