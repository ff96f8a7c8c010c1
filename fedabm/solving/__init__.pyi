from fedabm.games.welfare import (
    Optimum as Optimum,
)
from fedabm.games.welfare import (
    p_mean_welfare as p_mean_welfare,
)
from fedabm.games.welfare import (
    welfare_optimum as welfare_optimum,
)
from fedabm.solving.coalitions import HedonicGame as HedonicGame
from fedabm.solving.coalitions import partitions as partitions
from fedabm.solving.goals import GOALS as GOALS
from fedabm.solving.goals import EquilibriumGoal as EquilibriumGoal
from fedabm.solving.metrics import (
    accuracy_gain as accuracy_gain,
)
from fedabm.solving.metrics import (
    alone_utilities as alone_utilities,
)
from fedabm.solving.metrics import (
    data_gain as data_gain,
)
from fedabm.solving.metrics import (
    equal_treatment as equal_treatment,
)
from fedabm.solving.metrics import (
    gini as gini,
)
from fedabm.solving.metrics import (
    individually_rational as individually_rational,
)
from fedabm.solving.metrics import (
    information_rent as information_rent,
)
from fedabm.solving.metrics import (
    price_of_anarchy as price_of_anarchy,
)
from fedabm.solving.metrics import (
    reciprocities as reciprocities,
)
from fedabm.solving.metrics import (
    reciprocity as reciprocity,
)
from fedabm.solving.ranges import CostRanges as CostRanges
from fedabm.solving.ranges import gains_in_ranges as gains_in_ranges
from fedabm.solving.rates import (
    DerivativeBounds as DerivativeBounds,
)
from fedabm.solving.rates import (
    accuracy_steps as accuracy_steps,
)
from fedabm.solving.rates import (
    full_contribution_steps as full_contribution_steps,
)
from fedabm.solving.rates import (
    joint_steps as joint_steps,
)
from fedabm.solving.rates import (
    step_bounds as step_bounds,
)
from fedabm.solving.rates import (
    weight_steps as weight_steps,
)
from fedabm.solving.truth import Truth as Truth
from fedabm.solving.truth import bayesian_truth as bayesian_truth
from fedabm.solving.truth import truth_ex_post as truth_ex_post
from fedabm.solving.tuning import Tuned as Tuned
from fedabm.solving.tuning import tune as tune
from fedabm.solving.uniqueness import Uniqueness as Uniqueness
