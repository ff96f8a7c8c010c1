"""The commented study and game that `fedabm init` writes."""

from __future__ import annotations

import os
from pathlib import Path

from fedabm.common.errors import InputError
from fedabm.common.files import write

__all__ = ["EXAMPLE", "GAME", "write_example"]

EXAMPLE = """\
# A study of fedabm.  Change what you like, then:  fedabm run study.toml
question = "Who pays for the model that five hospitals share?"

# What a model trained on so much data is worth: here 1 - 1/(1 + data)^0.5.  All kinds: fedabm list accuracies
accuracy = { kind = "power_law", exponent = 0.5 }

steps = 100      # at most this many rounds; a run ends when nobody moves any more
seeds = 1        # how often everything is repeated; more where anything is drawn at random (see below)
figures = ["comparison", "owners", "money", "over time"]

# The rules to compare, by what you want to call them.  All kinds: fedabm list mechanisms
[mechanisms]
"no payments" = "no_payments"
"subsidy" = { kind = "contribution_subsidy", rate = 0.004 }
"Shapley shares" = "shapley_share"

# The owners of the data.  cost: per unit of data (or a table such as { kind = "affine", rate = 0.01, fixed = 0.1 });
# data: all it has; strategy: what it does (default: best_response).  All kinds: fedabm list strategies
[[owners]]
name = "St. Mary"
cost = 0.002
data = 300

[[owners]]
name = "Charité"
cost = 0.003
data = 500

[[owners]]
name = "County"
cost = 0.005
data = 200
strategy = "free_rider"

[[owners]]
name = "Riverside"
cost = 0.004
data = 250
strategy = { kind = "liar", truth = "best_response", contribution_factor = 2.0 }

[[owners]]
name = "Hill Clinic"
cost = 0.008
data = 100

# Several owners of one kind, called "practice 1", "practice 2", ...; delete the marks to have them.
# [[groups]]
# name = "practice"
# count = 10
# cost = { low = 0.004, high = 0.012 }
# data = { low = 20, high = 60 }
# strategy = "best_response"
"""


GAME = """\
# A game of fedabm.  Change what you like, then:  fedabm solve game.toml  or  fedabm audit game.toml

# The rule.  All kinds: fedabm list mechanisms; one with parameters: { kind = "contribution_subsidy", rate = 0.02 }
mechanism = "shapley_share"

# What a model trained on so much data is worth: here 1 - 1/(1 + data).  All kinds: fedabm list accuracies
accuracy = { kind = "power_law", scale = 1.0, exponent = 1.0, offset = 1.0 }

# What one unit of data costs each owner, and how much each has
[owners]
costs = [0.1, 0.25]
capacity = 100
"""


def write_example(path: str | Path, text: str = EXAMPLE) -> Path:
    """Write an example to a new file; `hospitals` is `hospitals.toml`, since that is what commands know a study by."""
    path = Path(path)
    if path.name in ("", ".."):
        raise InputError(f"{path} is a folder; give the name of a file, for instance {path / 'study.toml'}")
    if not path.suffix:
        path = path.with_suffix(".toml")
    if os.path.lexists(path):
        raise InputError(f"{path} is there already; give another name, for instance fedabm init my_{path.name}")
    write(path, text, "choose a folder that can be written to")
    return path
