"""What is said before the first call, since it would make all of them pointless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_hush.plugin.session import HushSession


def forewarn(session: HushSession, instrument: Mapping[str, Any]) -> None:
    """Say on the terminal that every gate will be invalid, where the judges are not calibrated as the file asks.

    The run goes on: its records can be judged later, by another file or with a calibration (`hush gate`).
    """
    from pytest_hush.gate.calibrated import calibrated

    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.worker is not None or reporter is None or session.setup.thresholds.judge.min_alpha is None:
        return
    known = calibrated(instrument, session.setup.calibrations, session.setup.thresholds)
    if known.invalid:
        reporter.ensure_newline()
        reporter.write_line(f"hush: every gate will be invalid: {known.invalid}", yellow=True)
