from fedabm.results.frames import split as split
from fedabm.results.sweeps import Results as Results
from fedabm.sweep.breaking.found import Breaks as Breaks
from fedabm.sweep.breaking.found import where_it_breaks as where_it_breaks
from fedabm.sweep.cluster import RayExecutor as RayExecutor
from fedabm.sweep.designs import Cell as Cell
from fedabm.sweep.designs import Cells as Cells
from fedabm.sweep.designs import Design as Design
from fedabm.sweep.designs import Grid as Grid
from fedabm.sweep.designs import OneAtATime as OneAtATime
from fedabm.sweep.executors import LocalExecutor as LocalExecutor
from fedabm.sweep.executors import SerialExecutor as SerialExecutor
from fedabm.sweep.limits import memory_limit as memory_limit
from fedabm.sweep.plan import Sweep as Sweep
from fedabm.sweep.sampling import (
    LatinHypercube as LatinHypercube,
)
from fedabm.sweep.sampling import (
    RandomDesign as RandomDesign,
)
from fedabm.sweep.sampling import (
    Sobol as Sobol,
)
from fedabm.sweep.sampling import (
    Span as Span,
)
from fedabm.sweep.seeds import Seeds as Seeds
from fedabm.sweep.spec import read_sweep as read_sweep
