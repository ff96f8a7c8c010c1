"""The closed list of this package's classes whose objects an archive may hold: frozen values within declared state.

Nothing here runs anything but its own arithmetic, whatever its attributes are.  Strategies and costs are in it because
owners may be given others while a run goes on, random streams and tampering because they are used up in training;
the parts of a run declare arrays, numbers and text (`fedabm.common.state`), and the scenario holds all else.
"""

from __future__ import annotations

__all__ = ["CODE", "KEPT"]

_CLASSES = {
    "common.coded": "Coded",
    "common.pcg64": "Bits",
    "common.random": "Streams _Home",
    "common.table": "FrozenArray",
    "games.costs.base": "ScaledCost",
    "games.costs.many": "MixedCost",
    "games.costs.piecewise": "PiecewiseCost",
    "games.costs.power": "PowerCost",
    "games.messages": "Tampering",
    "learning.rules.scaffold": "ControlVariates",
    "learning.rules.server_optimiser": "Moments",
    "strategies.adaptive_attacker": "AdaptiveAttacker Grown",
    "strategies.attackers": "Attacker TamperTwice",
    "strategies.best_response": "BestResponse GradientResponse",
    "strategies.learners.aspiration": "Aspiration",
    "strategies.learners.epsilon_greedy": "EpsilonGreedy",
    "strategies.learners.exp3": "EXP3",
    "strategies.learners.fictitious_play": "FictitiousPlay",
    "strategies.learners.imitation": "Imitation",
    "strategies.learners.logit_response": "LogitResponse",
    "strategies.learners.q_learning": "QLearning",
    "strategies.learners.regret_matching": "RegretMatching",
    "strategies.learners.tit_for_tat": "TitForTat",
    "strategies.learners.ucb": "UCB",
    "strategies.liar": "Liar",
    "strategies.measured": "MeasuredResponse",
    "strategies.quitter": "Quitter",
    "strategies.simple": "AsAsked FixedShare FreeRider Honest Keep Random",
}

#: the names, as an archive has them
KEPT = frozenset(f"fedabm.{module}:{name}" for module, names in _CLASSES.items() for name in names.split())
#: attributes of theirs that may hold a function, which must be given: how owners tamper with their updates
CODE = frozenset({"change", "first"})
