"""Where the built-in suite stands among the user's folders, so that it sees the fixtures that are to be measured.

pytest shows a fixture of a ``conftest.py`` to what lies below its folder, and one of a test module to that module. The
built-in tests lie in neither, so their module is hung below the one place that overrides a fixture of ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import UsageError

FIXTURES = ("hush_model", "hush_memory", "hush_judge", "hush_assistant")
OWN_MODULE = "pytest_hush.plugin.fixtures"


class Suite(pytest.Module):
    """The built-in tests. Collected last of all: by then every ``conftest.py`` and test module of the run was read."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        _read_waiting(self.session)
        self.parent = _lowest([d for found in overriding(self.session).values() for d in found], self.session)
        return super().collect()


class _Place(pytest.Collector):
    """Stands for a folder or module by its node id, by which pytest from 8.1 up to 9.1 tells what sees a fixture."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return ()


def overriding(session: pytest.Session) -> dict[str, list[Any]]:
    """Name -> the definitions of the user's of each of `FIXTURES`, those of a class left out; wherever they stand."""
    manager: Any = session._fixturemanager
    found: dict[str, list[Any]] = {}
    for name in FIXTURES:
        if hasattr(manager, "_arg2node2fixturedefs"):
            defined = [d for held in manager._arg2node2fixturedefs.get(name, {}).values() for d in held]
            defined += [d for held in manager._arg2nodeid2fixturedefs.get(name, {}).values() for d in held]
        else:
            defined = list(manager._arg2fixturedefs.get(name, ()))
        users = [d for d in defined if d.func.__module__ != OWN_MODULE and "::" not in d.baseid]
        if users:
            found[name] = users
    return found


def refuse_several(session: pytest.Session) -> None:
    """Raise `UsageError` for a fixture that is defined twice: cases and positive controls must measure one object."""
    found = overriding(session)
    for name, defined in found.items():
        if len(defined) > 1:
            raise UsageError(
                f"The fixture {name} is defined {len(defined)} times: in {_files(defined, session)}. Expected one in a "
                f"run, so that all of its cases measure one object. Remove the others, or start pytest in the folder "
                f"of the one that is meant."
            )
    every = [d for defined in found.values() for d in defined]
    if _lowest(every, session) is session and any(d.baseid not in ("", ".") for d in every):
        raise UsageError(
            f"The fixtures {', '.join(found)} stand in places that do not see each other: {_files(every, session)}. "
            f"Put them into one conftest.py."
        )


def _files(defined: Iterable[Any], session: pytest.Session) -> str:
    files = [d.func.__code__.co_filename for d in defined]
    return ", ".join(dict.fromkeys(os.path.relpath(file, session.config.invocation_params.dir) for file in files))


def _lowest(defined: list[Any], session: pytest.Session) -> pytest.Collector:
    """The node below which all of `defined` are seen; the session where there are none, or no node sees all."""
    nodes = [_node(d, session) for d in defined]
    lowest: pytest.Collector = max(nodes, key=lambda n: len(n.listchain()), default=session)
    seen = {n.nodeid for n in lowest.listchain()}
    return lowest if all(n.nodeid in seen for n in nodes) else session


def _node(definition: Any, session: pytest.Session) -> pytest.Collector:
    node = getattr(definition, "node", None)
    if node is not None:
        return node  # type: ignore[no-any-return]
    found: pytest.Collector = session
    parts = [part for part in str(definition.baseid).split("/") if part not in ("", ".")]
    for depth in range(1, len(parts) + 1):
        nodeid = "/".join(parts[:depth])
        found = _Place.from_parent(found, name=parts[depth - 1], nodeid=nodeid)
    return found


def _read_waiting(session: pytest.Session) -> None:
    """Read the fixtures of a ``conftest.py`` that pytest loaded at its start and whose folder it never collects.

    Since 9.1 pytest reads them with the folder. With the built-in suite alone no folder of the user's is collected.
    """
    manager: Any = session._fixturemanager
    waiting: dict[Path, Any] = getattr(manager, "_pending_conftests", {})
    root = session.config.rootpath
    asked = [f for f, plugin in waiting.items() if any(name in vars(plugin) for name in FIXTURES)]
    for folder in sorted(asked):
        known = {n.path: n for held in manager._arg2node2fixturedefs.values() for n in held}
        parent: pytest.Collector = session
        for path in (*(p for p in reversed(folder.parents) if root in p.parents), folder):
            parent = known.get(path) or pytest.Dir.from_parent(parent, path=path)
            plugin = waiting.pop(path, None)
            if plugin is not None:
                manager.parsefactories(holder=plugin, node=parent)
