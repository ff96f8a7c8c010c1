"""Sweeps: thousands of runs, none lost, from a laptop to a cluster.

>>> from fedabm.sweep import Grid, Sweep
>>> len(Sweep("free_riding", Grid(rate=[0.01, 0.02], owners=[5, 10]), seeds=20).jobs)
80

`designs`, `sampling` and `seeds` say what is run, `targets` and `jobs` what a run is, `identity` what names it; `plan`
is the sweep itself, `runner` its leader and `watch` its clock, `worker` who does the work, `executors`, `cluster` and
`places` where.

Running them needs signals as POSIX has them: Linux, macOS, or the Linux inside Windows (WSL).  Reading them does not.
"""

from fedabm.results.frames import split
from fedabm.results.sweeps import Results
from fedabm.sweep.designs import Cell, Cells, Design, Grid, OneAtATime
from fedabm.sweep.plan import Sweep
from fedabm.sweep.sampling import LatinHypercube, RandomDesign, Sobol, Span
from fedabm.sweep.seeds import Seeds
from fedabm.sweep.spec import read_sweep

__all__ = [
    "Cell",
    "Cells",
    "Design",
    "Grid",
    "LatinHypercube",
    "OneAtATime",
    "RandomDesign",
    "Results",
    "Seeds",
    "Sobol",
    "Span",
    "Sweep",
    "read_sweep",
    "split",
]
