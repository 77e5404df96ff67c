"""Zero-code collection: the built-in suite as ``hush::…`` beside, or instead of, the user's tests.

A virtual `pytest.Module` on the Session gives ordinary items: the user's conftest hooks, marks, ``-k`` and
fixture overrides apply to them. Its `path` is `rootpath` itself: with any other, conftest hooks are dropped
in silence.
"""

from __future__ import annotations

import fnmatch
import os
import types
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_hush.plugin.stash import SESSION

if TYPE_CHECKING:
    from pytest_hush.model import Case

ROOT = "hush"
CASE, CONTROL = "hush_case", "hush_control"
REQUESTS = frozenset({CASE, "hush_record", "hush_score"})


def lift_arguments(config: pytest.Config) -> None:
    """Take ``hush`` and ``hush::…`` out of pytest's path arguments and keep them as options.

    A folder or file that is really called ``hush`` stays an ordinary argument.
    """
    option = config.option
    option.hush_explicit = bool(config.getoption("hush_model"))
    option.hush_select, option.hush_builtin_only, option.hush_paths, option.hush_suite = [], False, False, False
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        # xdist starts a worker with the command line as it was typed: what became of it here comes beside it.
        for name, value in worker.get("hush_arguments", {}).items():
            setattr(option, name, value)
        if "hush_args" in worker:
            config.args[:] = worker["hush_args"]
        return
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    if given:
        lifted = [a for a in config.args if a == ROOT or a.startswith(f"{ROOT}::")]
        if lifted and not (config.invocation_params.dir / ROOT).exists():
            option.hush_explicit = True
            option.hush_select = [a for a in lifted if a != ROOT] if ROOT not in lifted else []
            config.args[:] = [a for a in config.args if a not in lifted]
            option.hush_builtin_only = not config.args
            option.hush_suite = True
        option.hush_paths = bool(config.args)
    # Paths without `hush` name the user's own tests; nothing at all means the built-in suite.
    option.hush_suite = option.hush_suite or (option.hush_explicit and not option.hush_paths)
    if option.hush_explicit and not given:
        # Only files that ask for cases are collected: the rest of the project is not even imported.
        config.args[:] = [str(p) for p in asking_files(config)]
        option.hush_builtin_only = not config.args


def asking_files(config: pytest.Config) -> list[Path]:
    """The user's test files, below what pytest would collect, that ask for cases."""
    patterns: list[str] = config.getini("python_files")
    skipped: list[str] = config.getini("norecursedirs")
    found: list[Path] = []
    for argument in config.args:
        start = config.invocation_params.dir / argument.partition("::")[0]
        if start.is_file():
            found += [start] if asks_for_cases(start) else []
            continue
        for folder, folders, files in os.walk(start):
            folders[:] = sorted(
                f
                for f in folders
                if not any(fnmatch.fnmatch(f, p) for p in skipped) and not Path(folder, f, "pyvenv.cfg").exists()
            )
            paths = (Path(folder, f) for f in sorted(files) if any(fnmatch.fnmatch(f, p) for p in patterns))
            found += [p for p in paths if asks_for_cases(p)]
    return found


def lifted_arguments(config: pytest.Config) -> dict[str, object]:
    """What `lift_arguments` found on the controller, for its workers."""
    names = ("hush_explicit", "hush_select", "hush_builtin_only", "hush_paths", "hush_suite")
    return {name: getattr(config.option, name) for name in names}


def asks_for_cases(path: Path) -> bool:
    """True when a function in the Python file takes `hush_case`, `hush_record` or `hush_score`.

    Read as syntax, not imported: with ``--hush-model`` alone, only such files of the user's are collected.
    """
    import ast

    try:
        source = path.read_bytes()
        if b"hush_" not in source:
            return False
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
            if names & REQUESTS:
                return True
    return False


def case_of(item: pytest.Item) -> Case | None:
    """The case, or the positive control's case, that `item` is parametrized with."""
    # Imported here: this module is loaded at every start of pytest, and the vocabulary costs 40 ms.
    from pytest_hush.model import Case

    callspec = getattr(item, "callspec", None)
    params = getattr(callspec, "params", {})
    found = params.get(CASE) or params.get(CONTROL)
    return found if isinstance(found, Case) else None


class Collector:
    """The collection hooks of a hush run; registered only when a generator is named."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.option = config.option

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if isinstance(collector, pytest.Session) and self.option.hush_suite and report.passed:
            report.result = [*report.result, self.module(collector)]
        return report

    def module(self, session: pytest.Session) -> pytest.Module:
        """The built-in suite; without the test of positive controls where the plan has none."""
        from pytest_hush import _suite

        plan = self.config.stash[SESSION].activate().plan
        suite = types.ModuleType(ROOT, _suite.__doc__)
        suite.test_case = _suite.test_case  # type: ignore[attr-defined]
        if any(case.kind == "control" and plan.in_shard(case) for case in plan.cases):
            suite.test_positive_control = _suite.test_positive_control  # type: ignore[attr-defined]
        from pytest_hush.plugin.placing import Suite

        module: pytest.Module = Suite.from_parent(session, path=self.config.rootpath, nodeid=ROOT)
        module.obj = suite
        return module

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for name, kind in ((CASE, "probe"), (CONTROL, "control")):
            if name in metafunc.fixturenames:
                plan = self.config.stash[SESSION].activate().plan
                cases = [c for c in plan.cases if c.kind == kind and plan.in_shard(c)]
                metafunc.parametrize(name, cases, ids=[c.id for c in cases])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Let the user's own tests stand in for the built-in ones, and narrow to ``hush::…`` arguments."""
        own = [i for i in items if i.nodeid.startswith(f"{ROOT}::")]
        users = [i for i in items if not i.nodeid.startswith(f"{ROOT}::")]
        asking = [i for i in users if case_of(i) is not None]
        if not self.option.hush_suite:
            if asking:  # the user's tests measure the cases; no gate is judged without the positive controls
                module = self.module(session)
                own = [i for i in session.genitems(module) if i.nodeid.startswith(f"{ROOT}::test_positive_control")]
                items[:] = [*own, *users]
            elif self.option.hush_explicit and not self.config.option.collectonly:
                self._refuse(
                    "--hush-model is given, but no test under these paths asks for hush_case, hush_record or "
                    "hush_score. Add `hush` to the paths for the built-in suite, or leave the paths out."
                )
            return
        if self.option.hush_select:
            keep = tuple(self.option.hush_select)
            chosen = [i for i in own if any(_selects(k, i.nodeid) for k in keep)]
            missing = [k for k in keep if not any(_selects(k, i.nodeid) for i in own)]
            if missing:
                self._refuse(f"not found: {missing[0]} (no such test in the plan; see --collect-only)")
            self._deselect(items, [i for i in own if i not in set(chosen)])
            return
        if not self.option.hush_paths:
            users_other = [i for i in users if case_of(i) is None]
            replaced = [i for i in own if asking and i.nodeid.startswith(f"{ROOT}::test_case")]
            gone = {*users_other, *replaced}
            items[:] = [i for i in items if i not in gone]

    def _refuse(self, text: str) -> NoReturn:
        # pytest finishes its collection even so: no run folder may come of it.
        self.config.stash[SESSION].refused = True
        raise pytest.UsageError(text)

    def _deselect(self, items: list[pytest.Item], gone: list[pytest.Item]) -> None:
        if gone:
            lost = set(gone)
            items[:] = [i for i in items if i not in lost]
            self.config.hook.pytest_deselected(items=gone)


def _selects(argument: str, nodeid: str) -> bool:
    return nodeid == argument or nodeid.startswith(f"{argument}[")
