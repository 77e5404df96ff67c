"""Statistics of the gates: pure, deterministic, no I/O; numpy and scipy.special only.

What is computed and why stands in ``docs/reference/statistics.md``.

Imported on the first estimate, never at plugin load: its modules import numpy.
"""
