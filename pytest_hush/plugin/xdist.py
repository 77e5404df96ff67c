"""All that knows pytest-xdist: what controller and workers tell each other, and the worker's queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_hush.plan import Identity, Plan, identity
from pytest_hush.plugin.collect import ROOT, lifted_arguments

if TYPE_CHECKING:
    from pytest_hush.plugin.session import HushSession


class XdistBridge:
    """Registered on the controller only, and only where xdist is installed and distributes."""

    def __init__(self, session: HushSession) -> None:
        self.session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        session = self.session
        node.workerinput["hush_arguments"] = lifted_arguments(session.config)
        if session.config.option.hush_explicit:
            node.workerinput["hush_args"] = [str(a) for a in session.config.args]
        if session.active and session.folder is None and not session.config.option.collectonly:
            session.open_folder()
        if session.folder is not None:
            node.workerinput["hush_folder"] = str(session.folder.path)
            node.workerinput["hush_plan"] = session.setup.plan.hash

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """The controller collects nothing itself: what was selected it learns from the workers' test ids."""
        if self.session.active and self.session.selected is None:
            self.session.selected = selected_cases(ids, self.session.setup.plan)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        made = getattr(node, "workeroutput", {}).get("hush") if not error else None
        if made:
            calls, hits = self.session.worker_calls
            self.session.worker_calls = (calls + made[0], hits + made[1])


def selected_cases(nodeids: Iterable[str], plan: Plan) -> frozenset[Identity]:
    """The plan's cases that the test ids measure; a case's id stands alone or beside other parameters."""
    by_id = {case.id: identity(case) for case in plan.cases}
    found: set[Identity] = set()
    for nodeid in nodeids:
        start = nodeid.find("[")
        if start < 0:
            continue
        parameter = nodeid[start + 1 : -1]
        if parameter in by_id:
            found.add(by_id[parameter])
        elif not nodeid.startswith(f"{ROOT}::"):
            parts = parameter.split("-")
            spans = ("-".join(parts[a:b]) for a in range(len(parts)) for b in range(a + 1, len(parts) + 1))
            found.update(by_id[s] for s in spans if s in by_id)
    return frozenset(found)


def worker_queue(config: pytest.Config) -> Any | None:
    """The queue of item indices that this worker will run, or None (then look-ahead is one item).

    xdist offers no public view of it; the attribute is read behind a guard.
    """
    for plugin in config.pluginmanager.get_plugins():
        queue = getattr(plugin, "torun", None)
        if hasattr(queue, "lock"):
            return queue
    import warnings

    warnings.warn(
        pytest.PytestWarning(
            "pytest-hush cannot see this version of pytest-xdist's queue: each worker looks one case ahead only, "
            "which is slower. One process without -n is as fast."
        ),
        stacklevel=1,
    )
    return None
