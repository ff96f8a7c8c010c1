from fedabm.shapley.methods import (
    METHODS as METHODS,
)
from fedabm.shapley.methods import (
    choose_method as choose_method,
)
from fedabm.shapley.methods import (
    shapley as shapley,
)
from fedabm.shapley.methods import (
    shapley_curves as shapley_curves,
)
from fedabm.shapley.methods import (
    shapley_jacobian as shapley_jacobian,
)
from fedabm.shapley.methods import (
    shapley_marginals as shapley_marginals,
)
from fedabm.shapley.methods import (
    shapley_potential as shapley_potential,
)
from fedabm.shapley.of_values import coalitions_of as coalitions_of
from fedabm.shapley.of_values import shapley_of_values as shapley_of_values
from fedabm.shapley.shares import Shares as Shares
from fedabm.shapley.truncated import Truncation as Truncation
