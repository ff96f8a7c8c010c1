"""What a scenario script works with.

study          runs models, keeps frames, tables and pictures, and saves them together
library        finds scripts by name or file, and reads their parameters
dry_run        what a script would run, without running it
resume         a study that was killed goes on
equilibria     an equilibrium in the same frames as a simulated run
drawn          pictures that a script leaves open
measured       a public accuracy curve, measured before owners respond to it
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
