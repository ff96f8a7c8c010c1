"""How a shared model is learned from what owners send: one file per rule.

A rule of your own: a file here, a line below (which puts it under the contract test and gives it a name in text, such
as `--set rule=krum`), and a test of what it is known for in `tests/learning/test_rules.py`.

`base` says what a rule is, `recipe` how owners train, `rounds` how rounds go, `aggregate` what rules have in common.
"""

from fedabm.learning.rules.base import Rule
from fedabm.learning.rules.coordinate_median import CoordinateMedian
from fedabm.learning.rules.fed_adagrad import FedAdagrad
from fedabm.learning.rules.fed_adam import FedAdam
from fedabm.learning.rules.fed_avg import FedAvg
from fedabm.learning.rules.fed_nova import FedNova
from fedabm.learning.rules.fed_prox import FedProx
from fedabm.learning.rules.fed_yogi import FedYogi
from fedabm.learning.rules.geometric_median import GeometricMedian
from fedabm.learning.rules.krum import Krum
from fedabm.learning.rules.scaffold import Scaffold
from fedabm.learning.rules.trimmed_mean import TrimmedMean

__all__ = [
    "CoordinateMedian",
    "FedAdagrad",
    "FedAdam",
    "FedAvg",
    "FedNova",
    "FedProx",
    "FedYogi",
    "GeometricMedian",
    "Krum",
    "Rule",
    "Scaffold",
    "TrimmedMean",
]
