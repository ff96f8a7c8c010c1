"""Does a learner that knows nothing of mechanisms find the lie that pays?

One owner learns by the cross-entropy method (Rubinstein 1999) what to give and what to say, in a Gymnasium environment
of a federation: it tries actions, keeps the best tenth of them and tries around those again.  It first learns without
lies, then with them; what it gains by lying is the difference.  Under the subsidy it claims more than it gives; where
nothing is paid for claims, a model that falls short of them is fined, or payments do not depend on the own report, it
finds nothing.

Needs the extra rl: pip install 'fedabm[rl]'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Federation, Scenario, population, run_script
from fedabm.accuracy import PowerLaw
from fedabm.checks import check_count
from fedabm.mechanisms import Clarke, ContributionSubsidy, Mechanism, NoPayments, Verification
from fedabm.strategies import FixedShare
from fedabm.study import Study

if TYPE_CHECKING:
    from fedabm.environment import OwnerEnv

RATE = 0.05
MECHANISMS: tuple[Mechanism, ...] = (
    ContributionSubsidy(RATE),
    NoPayments(),
    Verification(ContributionSubsidy(RATE), fine=10.0),
    Clarke(),
)


def run(
    study: Study,
    mechanisms: tuple[Mechanism, ...] = MECHANISMS,
    rounds: int = 12,
    tries: int = 40,
    owners: int = 3,
) -> None:
    """Learn without and with lies under every mechanism; table and curves.

    mechanisms  the mechanisms under which it learns
    rounds      rounds of the cross-entropy method
    tries       actions tried in each round
    owners      number of owners, of which the first learns

    Takes seconds.
    """
    from fedabm.environment import OwnerEnv  # Gymnasium is an extra

    check_count("rounds", rounds)
    check_count("tries", tries, 10)
    check_count("owners", owners)
    rows, curves = [], {}
    for mechanism in mechanisms:
        name = type(mechanism).__name__
        people = population([0.02] * owners, 5.0, FixedShare(0.5))
        scenario = Scenario(people, PowerLaw(), mechanism, steps=study.steps or 1)
        study.add(Federation(scenario, study.seed).run().frames(name, study.parameters))
        lies = ["cost"] if mechanism.asks_cost else ["contribution"]
        learned = {}
        for kind, allowed in (("honest", []), ("lying", lies)):
            env = OwnerEnv(scenario, lies=allowed, steps=1)
            learned[kind], curves[name, kind] = learn(env, rounds, tries, np.random.default_rng(study.seed))
        rows.append(_row(name, lies[0], scenario, learned))
    study.table(pd.DataFrame(rows), "What a learner finds")
    study.picture(_draw(curves), "learning_to_lie")


def learn(env: OwnerEnv, rounds: int, tries: int, rng: np.random.Generator) -> tuple[np.ndarray, list[float]]:
    """The cross-entropy method: the mean of the last elite, and the mean reward of each round's elite."""
    width = env.action_space.shape[0]
    centre, spread = np.full(width, 0.5), np.full(width, 0.4)
    rewards: list[float] = []
    for _ in range(rounds):
        actions = np.clip(rng.normal(centre, spread, (tries, width)), 0.0, 1.0)
        earned = np.array([_earned(env, action) for action in actions])
        elite = np.argsort(-earned)[: max(tries // 10, 2)]
        centre, spread = actions[elite].mean(axis=0), actions[elite].std(axis=0) + 0.01
        rewards.append(float(earned[elite].mean()))
    return centre, rewards


def _earned(env: OwnerEnv, action: np.ndarray) -> float:
    """The reward of an episode in which it does this in every step."""
    env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        _, reward, ended, cut, _ = env.step(action.astype(np.float32))
        total, over = total + reward, ended or cut
    return total


def _row(name: str, lie: str, scenario: Scenario, learned: dict[str, np.ndarray]) -> dict[str, object]:
    """What it found: data given, and what it says as a multiple of the truth, and what that gains over honesty."""
    from fedabm.environment import OwnerEnv

    honest, lying = learned["honest"], learned["lying"]
    env = OwnerEnv(scenario, lies=[lie], steps=1)
    truthful = env.federation.meaning.honest(float(honest[0]))
    gain = _earned(env, lying) - _earned(env, truthful)
    said = 2.0 * lying[1] / (lying[0] if lie == "contribution" and lying[0] > 0 else 1.0)
    share = {"gives, honest": float(honest[0]), "gives, lying": float(lying[0])}
    return {"mechanism": name, "lies about": lie, **share, "says, times the truth": said, "gain of the lie": gain}


def _draw(curves: dict[tuple[str, str], list[float]]) -> Figure:
    names = list(dict.fromkeys(name for name, _ in curves))
    figure, panels = plt.subplots(
        1, len(names), figsize=(3.2 * len(names), 3.0), squeeze=False, sharey=True, layout="constrained"
    )
    for axes, name in zip(panels.flat, names, strict=True):
        for kind, dashes in (("honest", "--"), ("lying", "-")):
            axes.plot(range(1, len(curves[name, kind]) + 1), curves[name, kind], dashes, label=kind)
        axes.set(title=name, xlabel="round")
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0, 0].set_ylabel("utility of the best tenth")
    panels[0, 0].legend()
    return figure


if __name__ == "__main__":
    run_script(__file__)
