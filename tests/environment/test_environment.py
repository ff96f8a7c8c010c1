"""The federation as an environment: PettingZoo's and Gymnasium's own tests, and rewards that are utilities."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils import parallel_to_aec

from fedabm import Federation, InputError, Scenario, population
from fedabm.environment import FederationEnv, OwnerEnv
from fedabm.environment.federation import OBSERVED
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare, Verification
from fedabm.scenarios.learning_to_lie import learn
from fedabm.strategies import BestResponse, FixedShare, Random

RATE = 0.05


def scenario(mechanism=ContributionSubsidy(RATE), strategies=FixedShare(0.5)):  # noqa: B008
    return Scenario(population([0.02, 0.03, 0.04], 5.0, strategies), PowerLaw(), mechanism)


def env(**options) -> FederationEnv:
    return FederationEnv(scenario(CostSharing(0.3)), lies=["contribution", "cost", "size"], **options)


def test_pettingzoo_accepts_it():
    parallel_api_test(env(steps=4), num_cycles=20)
    api_test(parallel_to_aec(env(steps=4)), num_cycles=20, verbose_progress=False)


def test_equal_seeds_give_equal_episodes():
    parallel_seed_test(env, num_cycles=8)
    seed_test(lambda: parallel_to_aec(FederationEnv(scenario(strategies=Random()), [1], steps=4)), num_cycles=8)
    one, two = (FederationEnv(scenario(strategies=Random()), [1], steps=4) for _ in range(2))
    rewards = []
    for each in (one, two):
        each.reset(seed=3)
        rewards.append([each.step({"owner_1": [0.5]})[1]["owner_1"] for _ in range(3)])
    assert rewards[0] == rewards[1]
    assert len(set(rewards[0])) > 1


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_accepts_one_owner_of_it():
    check_env(OwnerEnv(scenario(), 1, lies=["contribution"], steps=4), skip_render_check=True)


def test_an_honest_learner_gets_what_an_honest_strategy_gets():
    """The same utilities as in a run, for the learner and for everybody else."""
    run = Federation(scenario(), 0)
    run.step()
    for lies in ((), ("contribution", "cost", "size")):
        learning = FederationEnv(scenario(), lies=lies, steps=2)
        learning.reset(seed=1)
        _, rewards, _, _, infos = learning.step(dict.fromkeys(learning.agents, learning.meaning.honest(0.5)))
        assert list(rewards.values()) == pytest.approx(run.population.utility.tolist())
        assert infos["owner_0"] == {"contribution": 2.5, "claim": 2.5}


def test_a_lie_by_hand():
    """Two owners give 2.5 of 5, the first claims all of it: a subsidy of .05 pays it .05 (5 - 2.5)."""
    two = Scenario(population([0.02] * 2, 5.0, FixedShare(0.5)), PowerLaw(), ContributionSubsidy(RATE))
    liar = OwnerEnv(two, lies=["contribution"], steps=1)
    liar.reset(seed=0)
    seen, reward, ended, cut, told = liar.step(np.array([0.5, 0.5]))
    assert reward == pytest.approx(1 - 1 / 6 - 0.02 * 2.5 + RATE * 2.5)
    assert (ended, cut) == (False, True)
    assert told == {"contribution": 2.5, "claim": 5.0}
    assert dict(zip(OBSERVED, seen, strict=True))["total of all claims"] == pytest.approx(7.5)


def test_nobody_sees_anothers_facts():
    plain = FederationEnv(scenario(), steps=2)
    other = FederationEnv(
        Scenario(population([0.02, 0.9, 0.8], [5.0, 7.0, 9.0], FixedShare(0.5)), PowerLaw(), ContributionSubsidy(RATE)),
        steps=2,
    )
    one, two = (each.reset(seed=1)[0]["owner_0"] for each in (plain, other))
    np.testing.assert_array_equal(one, two)


def test_a_small_learner_finds_the_lie_that_pays_and_no_other():
    """As the scenario learning_to_lie does, with fewer tries."""
    found = {}
    for rule in (ContributionSubsidy(RATE), NoPayments(), Verification(ContributionSubsidy(RATE), fine=10.0)):
        ends = {}
        for lies in ((), ("contribution",)):
            owner = OwnerEnv(scenario(rule), lies=lies, steps=1)
            ends[lies] = learn(owner, rounds=6, tries=20, rng=np.random.default_rng(0))[1][-1]
        found[type(rule).__name__] = ends["contribution",] - ends[()]
    assert found["ContributionSubsidy"] > 0.1
    assert max(found["NoPayments"], found["Verification"]) < 1e-3


def test_strategies_beside_a_learner_go_on():
    beside = FederationEnv(scenario(ShapleyShare(), [FixedShare(0.5), BestResponse(), BestResponse()]), [0], steps=5)
    assert beside.possible_agents == ["owner_0"]
    beside.reset(seed=0)
    for _ in range(5):
        beside.step({"owner_0": [0.0]} if beside.agents else {})
    assert np.all(beside.model.population.contribution[1:] > 0)


def test_bad_input_is_told():
    with pytest.raises(InputError, match=r"nobody can lie about 'costs' here; .*cost"):
        FederationEnv(scenario(), lies=["costs"])
    with pytest.raises(InputError, match=r"lies must be a list, got 'cost'; write lies=\['cost'\]"):
        FederationEnv(scenario(), lies="cost")
    with pytest.raises(InputError, match="there is no owner 3 to learn; give numbers from 0 to 2"):
        FederationEnv(scenario(), [3])
    with pytest.raises(InputError, match=r"call reset\(\) before step\(\)"):
        FederationEnv(scenario()).step({})


def test_what_is_missing_is_named():
    """Without the extra: one line that says how to get it."""
    code = "import sys; sys.modules['pettingzoo'] = None\nfrom fedabm.environment import FederationEnv"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "fedabm.environment needs pettingzoo, which is not here; pip install 'fedabm[rl]'" in told
