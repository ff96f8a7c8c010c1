"""Sweeps: thousands of runs, none lost, from a laptop to a cluster.

>>> from fedabm.sweep import Grid, Sweep
>>> len(Sweep("free_riding", Grid(rate=[0.01, 0.02], owners=[5, 10]), seeds=20).jobs)
80

`designs`, `sampling` and `seeds` say what is run, `targets` and `jobs` what a run is; `plan` is the sweep itself,
`runner` its leader and `watch` its clock, `worker` who does the work, `executors`, `cluster` and `places` where.

Running them needs signals as POSIX has them: Linux, macOS, or the Linux inside Windows (WSL).  Reading them does not.
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
