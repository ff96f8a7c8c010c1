"""Bad input to the Python interface gets one line that says what is wrong, never a traceback from deep inside."""

import numpy as np
import pytest

from fedabm import Federation, Game, InputError, OwnerProfile, Scenario, load, population, save, solve
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import Announced, PacBound, Phased, PowerLaw
from fedabm.games.costs import Linear, Power, stack
from fedabm.games.individual import smallest_federation
from fedabm.games.offers import full_access
from fedabm.learning import FedAvg
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.engine.training import Proximal
from fedabm.mechanisms import BanzhafShare, ContributionSubsidy, MultiplicativeWeights, NoPayments, ShapleyShare
from fedabm.mechanisms.cost_sharing import optimal_rate
from fedabm.mechanisms.personalised.ditto import Ditto
from fedabm.mechanisms.personalised.fed_prox import FedProxExchange
from fedabm.shapley import shapley
from fedabm.solving import metrics
from fedabm.solving.dynamics import best_response
from fedabm.solving.rates import full_contribution_steps
from fedabm.solving.several import equilibria
from fedabm.strategies import BestResponse, GradientResponse
from fedabm.sweep import Grid, Sweep

LAW, RULE = PowerLaw(), NoPayments()
GAME = Game(LAW, [0.1, 0.25], 100, RULE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Game(LAW, [Linear([0.1, 0.2]), Linear(0.3)], 100, RULE), "cost of several|that of several owners"),
        (lambda: Game(LAW, Linear([[0.1, 0.2]]), 100, RULE), "shapes"),
        (lambda: Game(LAW, Linear([]), 100, RULE), "shapes"),
        (lambda: Game(LAW, [0.1, 0.2], 1e200, RULE), "largest capacity must be a single number up to 1e\\+100"),
        (lambda: Game(LAW, [0.1, 1e200], 1, RULE), "largest number in a cost"),
        (lambda: Game(LAW, [0.1, 0.2], 1e-200, RULE), "smallest capacity"),
        (lambda: stack([Linear([1.0, 2.0])]), "that of several owners"),
        (lambda: Power(1.0, "two"), "cost exponent must be a number, got 'two'"),
        (lambda: solve("game"), "game must be a Game, got 'game'"),
        (lambda: solve(GAME, method="best response", limit=-1), "limit must be a whole number from 1"),
        (lambda: solve(GAME, method="stochastic gradient", active=1.5), "active must be a whole number"),
        (lambda: equilibria(GAME, tolerance=-1), "tolerance must be a positive number"),
        (lambda: equilibria(GAME, starts=-1), "starts must be a whole number"),
        (lambda: shapley("law", [1.0]), "accuracy must be an Accuracy"),
        (lambda: shapley(LAW, [1.0], permutation=3), "no option 'permutation'; did you mean 'permutations'"),
        (lambda: shapley(LAW, [1.0], precision=0), "precision must lie between"),
        (lambda: PowerLaw(scale=[1, 2]), "accuracy scale must be a single number"),
        (lambda: PowerLaw(scale=2.0, exponent=1e-3), "no data would do; give a larger exponent"),
        (lambda: PacBound(ceiling=1e-200), "accuracy ceiling must lie between"),
        (lambda: PacBound(complexity=[1, 2]), "complexity must be a single number"),
        (lambda: Phased("law"), "model must be an Accuracy"),
        (lambda: Announced(LAW, "law"), "what is told must be an Accuracy"),
        (lambda: ContributionSubsidy([1, 2]), "subsidy rate must be a single number"),
        (lambda: ShapleyShare(permutations=2.5), "permutations must be a whole number"),
        (lambda: ShapleyShare(seed=-1), "seed must be a whole number from 0"),
        (lambda: BanzhafShare(seed="a"), "seed must be a whole number from 0"),
        (lambda: GradientResponse([1, 2]), "gradient step must be a single number"),
        (lambda: MultiplicativeWeights(0.5, 10, "a"), "factor must be a number"),
        (lambda: OwnerProfile(Linear(1.0), [1, 2]), "capacity must be a single number"),
        (lambda: OwnerProfile(Linear(1.0), 1e200), "capacity must be a single number up to"),
        (lambda: OwnerProfile(Linear(1.0), 1, budget="rich"), "budget must be a number"),
        (lambda: OwnerProfile(Linear(1.0), 1, budget=np.nan), "budget must lie between 0 and inf"),
        (lambda: Scenario(3, LAW), "an owner must be an OwnerProfile, got 3"),
        (lambda: Scenario([3], LAW), "an owner must be an OwnerProfile, got 3"),
        (lambda: Federation("free_riding"), "scenario must be a Scenario"),
        (lambda: metrics.gini([]), "one number per owner"),
        (lambda: metrics.reciprocity([1, 2], [0, 0], [1, 2, 3]), "shares \\(3,\\); give one number per owner"),
        (lambda: metrics.reciprocity([], [], []), "one number per owner"),
        (lambda: metrics.equal_treatment([]), "one number per owner"),
        (lambda: metrics.price_of_anarchy([], 1.0), "one number per owner"),
        (lambda: metrics.individually_rational([1, 2], [1, 2, 3]), "one number per owner"),
        (lambda: metrics.alone_utilities(LAW, [0.1], -1), "capacities must be a positive number"),
        (lambda: metrics.welfare_optimum(LAW, [0.1], 1, starts=0), "starts must be a whole number"),
        (lambda: metrics.p_mean_welfare([1, 1], "a"), "p must be at most 1, got 'a'"),
        (lambda: smallest_federation(PacBound(), -1.0), "unit cost must be a positive number"),
        (lambda: load(3), "the folder of results must be a path, got 3; give a text or a Path"),
        (lambda: load(b"x"), "must be a path"),
        (lambda: save(3, "nowhere"), "frames must be a Frames"),
        (lambda: Sweep("free_riding", 3), "a design must be a Design or a list of them, got 3"),
        (lambda: Sweep("free_riding", Grid(rate=[0.1])).run(3), "the folder of a sweep must be a path, got 3"),
        (lambda: next(best_response(GAME, [0, 0], "half")), "damping must be a number, got 'half'"),
        (lambda: next(best_response(GAME, [0, 0], 1.5)), "damping must be above 0 and at most 1"),
        (lambda: BestResponse("half"), "must be a number"),
        (lambda: IID("a"), "owners must be a whole number"),
        (lambda: IID(2).split(np.arange(4), 5), "rng must be a Generator, got 5"),
        (lambda: from_partition(3, IID(2)), "dataset must be a Dataset, got 3"),
        (lambda: full_access(LAW, np.ones(2), np.ones(2)), "payment of offers must be a curve, got ndarray"),
        (lambda: SGD(1e300), "rate must be a single number up to 1e\\+06, got 1e\\+300"),
        (lambda: Adam(1e38), "rate must be a single number up to"),
        (lambda: FedAvg(rate=1e38), "rate must be a single number up to"),
        (lambda: FedProxExchange(1e300), "mu must be a single number up to"),
        (lambda: Ditto(1e300), "strength must be a single number up to"),
        (lambda: Proximal(1e300, None), "the proximal weight must be a single number up to"),
    ],
)
def test_bad_input_gets_one_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_odd_input_that_means_something_is_taken():
    assert Game(LAW, np.array(0.1), [1, 2, 3], RULE).costs.rate.tolist() == [0.1] * 3
    assert optimal_rate([1e-300, 1e300]) == 0.0
    assert full_contribution_steps([1.0], [2.0], gamma=0.1, subsidy=1.0, cost_slope=0.1) == 0
    assert len(Scenario(iter(population([0.1, 0.2], 1.0)), LAW).owners) == 2
