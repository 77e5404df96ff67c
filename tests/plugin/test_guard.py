"""``+guard``, ``+revoked`` and ``--hush-invitations`` on the command line, settings and fixtures included."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.guard import GuardSettings
from pytest_hush.plugin.memory_settings import read_guard_settings, read_memory_settings
from tests.plugin.conftest import Run, read_lines, read_result


def test_settings_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    assert read_guard_settings(tmp_path) == GuardSettings()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest_hush.guard]\nsilent = ["debt"]\nmost = 1\n')
    assert read_guard_settings(tmp_path) == GuardSettings(silent=("debt",), most=1)
    assert read_memory_settings(tmp_path, ()) == {}
    (tmp_path / "pyproject.toml").write_text('[tool.pytest_hush.guard]\nsilence = ["debt"]\n')
    with pytest.raises(UsageError, match=r"\[tool.pytest_hush.guard\]: guard settings: unknown setting 'silence'"):
        read_guard_settings(tmp_path)


def test_one_run_measures_both_sides_of_a_guard_and_what_was_withdrawn(hush: Run, project: pytest.Pytester) -> None:
    project.makepyprojecttoml("[tool.pytest.ini_options]\n[tool.pytest_hush.guard]\nembeddings = false\nmost = 3\n")
    result = hush(
        "--hush-model=parrot/1",
        "--hush-memory=oracle,oracle+guard,oracle+revoked,oracle+revoked+guard",
        "--hush-invitations",
        "--hush-sample=40",
    )
    found = read_result(project.path / "out")
    values = {(e["condition"], e["metric"]): e["value"] for e in found["estimates"] if e["stratum"] == ""}
    gains = {c["condition"]: c for c in found["contrasts"] if c["metric"] == "uptake_gain"}
    assert gains["oracle+guard"]["n"] == 40
    # The guard is silent where nobody asked, and shows what was told where somebody did.
    assert values["oracle", "exposure"] == 100.0
    assert values["oracle+guard", "exposure"] < 20.0
    assert values["oracle+guard", "invited_uptake"] == values["oracle", "invited_uptake"] > 0
    assert gains["oracle+guard"]["value"] > gains["oracle"]["value"]
    # Withdrawn, it stays silent also when asked; without a guard it does not.
    assert values["oracle+revoked+guard", "invited_uptake"] == 0.0
    assert values["oracle+revoked", "invited_uptake"] > 0
    subject = next(r["subject"] for r in read_lines(project.path / "out") if r["condition"] == "oracle+guard")
    assert subject["settings"]["memory"]["guard"]["most"] == 3
    result.stdout.fnmatch_lines(["*invited under oracle+guard beside uninvited, 40 pairs: target uptake +*"])


def test_a_memory_of_a_fixture_is_guarded_as_well(hush: Run, project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest

        class Store:
            name, version = "my-store", "1"
            settings = {"size": 2}

            def context(self, history, question):
                turns = [(s, t) for s in history.sessions for t in s.turns if s.id == history.planted]
                return [{"text": t.text, "sources": [s.id], "turns": [t.id]} for s, t in turns][:5]

        @pytest.fixture(scope="session")
        def hush_memory():
            return Store()
        """
    )
    hush("--hush-model=parrot/0", "--hush-memory=custom,custom+guard", "--hush-sample=40")
    records = [r for r in read_lines(project.path / "out") if r["kind"] == "probe"]
    shown = {c: sum(r["exposure"]["exact"] for r in records if r["condition"] == c) for c in ("custom", "custom+guard")}
    assert shown["custom"] == 40
    assert shown["custom+guard"] < 40
    subject = next(r["subject"] for r in records if r["condition"] == "custom+guard")
    assert (subject["memory"], subject["settings"]["memory"]["size"]) == ("my-store+guard", 2)
