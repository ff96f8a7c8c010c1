"""Random games and federations of every kind: for fuzzing, and for whoever wants to compare many games.

`draw_game(rng)` and `draw_scenario(rng)` draw from all mechanisms that promise something, all families of accuracy and
cost (a user's own among them) and all strategies (liars among them).  The same generator gives the same game.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields

import numpy as np

import fedabm.mechanisms
from fedabm import Game, Scenario
from fedabm.games.accuracy import (
    Accuracy,
    Custom,
    GroupWeighted,
    JointQuadratic,
    PacBound,
    PowerLaw,
    RandomCoverage,
    RandomDiscovery,
    Separable,
)
from fedabm.games.costs import Affine, Cost, Linear, Piecewise, Power, Quadratic, Tabulated
from fedabm.games.curves import Curve as OneCurve
from fedabm.games.curves import align_rows
from fedabm.games.offers import Offers, Shape, full_access
from fedabm.learning.oracles.curve import MeasuredCurve
from fedabm.mechanisms import (
    BanzhafShare,
    ContributionSubsidy,
    CostSharing,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    PaymentRule,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
    TullockContest,
    ValueShaping,
)
from fedabm.simulation.activation import Sequential, Simultaneous
from fedabm.simulation.scenario import OwnerProfile
from fedabm.specs.kinds import kinds
from fedabm.strategies import BestResponse, FixedShare, FreeRider, GradientResponse, Honest, Liar, Quitter, Random
from fedabm.strategies.base import Strategy
from fedabm.views import Reports
from tests.own_costs import Congested, Discount, Discs

__all__ = [
    "ACCURACIES",
    "COSTS",
    "LATER",
    "LINEAR",
    "MECHANISMS",
    "SHARING",
    "WILD",
    "draw_accuracy",
    "draw_costs",
    "draw_game",
    "draw_mechanism",
    "draw_scenario",
    "draw_strategy",
    "one_of",
]

Rng = np.random.Generator


def one_of(rng: Rng, choices: dict) -> object:
    """One entry of a dictionary, each as likely as the others."""
    names = sorted(choices)
    return choices[names[int(rng.integers(len(names)))]]


# Accuracies: (rng, owners, typical total of data) -> accuracy


def _power_law(rng: Rng, n: int, reach: float) -> Accuracy:
    offset = reach * 10 ** rng.uniform(-2.5, 0.5)
    exponent, ceiling = rng.uniform(0.3, 2.5), rng.choice([0.7, 1.0, 8.0])
    return PowerLaw(rng.uniform(0.1, 1.0) * ceiling * offset**exponent, exponent, offset, ceiling)


def _viability(rng: Rng, n: int, reach: float) -> Accuracy:
    exponent = rng.uniform(0.3, 2.0)
    viable, offset = reach * rng.uniform(0.02, 0.7), reach * rng.choice([0.0, 0.01, 0.3])
    return PowerLaw((viable + offset) ** exponent, exponent, offset, 1.0)


def _groups(rng: Rng, n: int, reach: float) -> Accuracy:
    several = int(rng.integers(1, 4))
    weights = rng.uniform(0, 1.5, (several, several)) * (rng.random((several, several)) < 0.8)
    exponent, offset = rng.uniform(0.3, 2.0), reach * 10 ** rng.uniform(-2, 0)
    scale = rng.uniform(0.3, 1.6) * offset**exponent
    return GroupWeighted(weights, rng.integers(0, several, n), scale, exponent, offset)


def _pac_bound(rng: Rng, n: int, reach: float) -> Accuracy:
    return PacBound(rng.uniform(0.5, 1.0), rng.uniform(0.2, 2.0) * max(reach / 200, 1e-3))


def _table(rng: Rng, n: int, most: float) -> np.ndarray:
    table = rng.uniform(0, 1, (n, int(rng.integers(1, 5)))) * (rng.random((n, 1)) < 0.9)
    return table * rng.choice([0.1, 0.5, 1.0]) * most


def _coverage(rng: Rng, n: int, reach: float) -> Accuracy:
    return RandomCoverage(np.clip(_table(rng, n, 1.0) * min(1.0, 5.0 / reach), 0.0, 1.0))


def _sure_coverage(rng: Rng, n: int, reach: float) -> Accuracy:
    table = np.clip(_table(rng, n, 1.0), 0.0, 1.0)
    return RandomCoverage(np.where(rng.random(table.shape) < 0.4, 1.0, table))


def _discovery(rng: Rng, n: int, reach: float) -> Accuracy:
    table = _table(rng, n, 1.0) / np.sqrt(reach)
    return RandomDiscovery(np.where(rng.random(table.shape) < 0.1, 1.0, table))


def _joint(rng: Rng, n: int, reach: float) -> Accuracy:
    target, weights = rng.uniform(0, 2, 2), rng.uniform(0, 2, 2)
    return JointQuadratic(tuple(target), tuple(weights), 0.25, rng.choice([1e-6, 1e-3, 0.1]) * reach)


def _curve(rng: Rng, n: int, reach: float) -> Accuracy:
    points = np.concatenate([[0.0], np.sort(rng.uniform(0.01, 1.2, int(rng.integers(1, 8)))) * reach])
    heights = rng.uniform(-0.2 if rng.random() < 0.2 else 0.0, 1.0, len(points))
    return MeasuredCurve(points, np.sort(heights) if rng.random() < 0.7 else heights, concave=bool(rng.random() < 0.5))


def _exposure(rng: Rng, n: int) -> np.ndarray:
    """Weights (n, n): everybody's own data count, those of others more or less."""
    if rng.random() < 0.5:
        return np.ones((n, n))
    return rng.uniform(0, 1, (n, n)) + np.eye(n)


def _root(rng: Rng, n: int, reach: float) -> Accuracy:
    weights, power = _exposure(rng, n), rng.choice([0.3, 0.5, 0.9])
    return Custom(lambda s: (s @ weights.T / reach) ** power, n, concave=True, monotone=True)


def _sigmoid(rng: Rng, n: int, reach: float) -> Accuracy:
    weights, steep, middle = _exposure(rng, n), rng.uniform(2, 40), rng.uniform(0.05, 0.8)
    height, low = rng.uniform(0.3, 3.0), rng.choice([0.0, 0.0, -1.0])
    return Custom(
        lambda s: low + height / (1 + np.exp(np.clip(-steep * (s @ weights.T / reach - middle), -300, 300))),
        n,
        monotone=True,
    )


def _corner(rng: Rng, n: int, reach: float) -> Accuracy:
    """Concave with a corner in the own contribution that does not move, and a jump at it where it says so."""
    where, slope, jump = reach * rng.uniform(0.02, 0.4) / n, rng.uniform(0.1, 2.0) / reach, rng.choice([0.0, 0.3])
    return Custom(
        lambda s: slope * np.minimum(s, where) + jump * (s > where) + 0.3 * np.log1p(s.sum(axis=1, keepdims=True)),
        concave=True,
        monotone=True,
        kinks=[where],
    )


def _jump(rng: Rng, n: int, reach: float) -> Accuracy:
    """The first sample is worth most, whoever brings it."""
    height, slope = rng.uniform(0.01, 1.0), rng.uniform(0.0, 1.0) / reach
    return Custom(
        lambda s: np.broadcast_to(
            height * (s.sum(axis=1, keepdims=True) > 0) + slope * s.sum(axis=1, keepdims=True), s.shape
        ),
        concave=True,
        monotone=True,
        kinks=[0.0],
    )


def _negative(rng: Rng, n: int, reach: float) -> Accuracy:
    depth, weights = rng.uniform(0.5, 50.0), _exposure(rng, n)
    return Custom(lambda s: 0.5 - depth * np.exp(-5 * (s @ weights.T) / reach), n, concave=True, monotone=True)


def _hill(rng: Rng, n: int, reach: float) -> Accuracy:
    """Too much data hurt: concave, not monotone."""
    top = reach * rng.uniform(0.2, 1.0)

    def value(s: np.ndarray) -> np.ndarray:
        total = s.sum(axis=1, keepdims=True) / top
        return np.broadcast_to(2 * total - total**2, s.shape)

    return Custom(value, concave=True)


def _waves(rng: Rng, n: int, reach: float) -> Accuracy:
    """Nothing is promised."""
    often = rng.uniform(2, 30)
    return Custom(lambda s: np.broadcast_to(0.5 + 0.4 * np.sin(often * s.sum(axis=1, keepdims=True) / reach), s.shape))


def _separable(rng: Rng, n: int, reach: float) -> Accuracy:
    own, slope = _own_part(rng, reach / n)
    weight = rng.uniform(0, 1) / reach
    concave = slope is not None
    return Separable(
        own,
        lambda s: np.broadcast_to(weight * s.sum(axis=1, keepdims=True), s.shape),
        concave=concave,
        monotone=True,
        own_slope=slope if rng.random() < 0.5 else None,
    )


def _own_part(rng: Rng, unit: float) -> tuple[Callable, Callable | None]:
    """g and, where it is concave, g'."""
    high = rng.uniform(0.2, 2.0)
    if rng.random() < 0.3:
        steep = rng.uniform(2, 20)
        return lambda x: high / (1 + np.exp(np.clip(-steep * (x / unit - 0.4), -300, 300))), None
    return lambda x: high * np.log1p(x / unit), lambda x: high / (unit + x)


ACCURACIES: dict[str, Callable[[Rng, int, float], Accuracy]] = {
    "power law": _power_law,
    "viability": _viability,
    "groups": _groups,
    "PAC bound": _pac_bound,
    "coverage": _coverage,
    "sure coverage": _sure_coverage,
    "discovery": _discovery,
    "joint quadratic": _joint,
    "table": _curve,
    "root": _root,
    "sigmoid": _sigmoid,
    "corner": _corner,
    "jump": _jump,
    "negative": _negative,
    "hill": _hill,
    "waves": _waves,
    "separable": _separable,
}


def _stairs(rng: Rng, n: int, reach: float) -> Accuracy:
    """Plateaus with ramps or jumps between them that nobody has named: it only never falls."""
    step, ramp, height = reach * rng.uniform(0.05, 0.5), rng.choice([0.0, 0.3]), rng.uniform(0.05, 0.5)

    def value(s: np.ndarray) -> np.ndarray:
        done, more = np.divmod(s.sum(axis=1, keepdims=True) / step, 1.0)
        return np.broadcast_to(height * (done + (np.minimum(more / ramp, 1.0) if ramp else 0.0)), s.shape)

    return Custom(value, monotone=True)


def _mistaken(rng: Rng, n: int, reach: float) -> Accuracy:
    """A root of the total with a gradient that is too flat, too steep or falls."""
    factor = rng.choice([-1.0, 0.5, 0.9, 1.1, 3.0])

    def gradient(s: np.ndarray) -> np.ndarray:
        slope = factor * 0.5 / np.sqrt(reach * (reach + s.sum(axis=1)))
        return np.broadcast_to(slope[:, None, None], (*s.shape, s.shape[1]))

    def value(s: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.sqrt(1.0 + s.sum(axis=1, keepdims=True) / reach), s.shape)

    return Custom(value, concave=True, monotone=True, gradient=gradient)


#: families that are drawn by name only: plateaus, and slopes that are wrong, which must be refused
WILD: dict[str, Callable[[Rng, int, float], Accuracy]] = {"stairs": _stairs, "mistaken": _mistaken}


def draw_accuracy(rng: Rng, owners: int, reach: float, family: str | None = None) -> Accuracy:
    """An accuracy for this many owners whose data add up to about `reach`."""
    made = one_of(rng, ACCURACIES) if family is None else (ACCURACIES | WILD)[family]
    return made(rng, owners, reach)  # type: ignore[operator]


# Costs: (rng, typical cost of everything, capacity) -> cost


def _linear(rng: Rng, price: float, capacity: float) -> Cost:
    return Linear(price / capacity)


def _affine(rng: Rng, price: float, capacity: float) -> Cost:
    return Affine(price / capacity, rng.uniform(0, 1))


def _power(rng: Rng, price: float, capacity: float) -> Cost:
    exponent = rng.uniform(1.0, 3.0)
    return Power(price / capacity**exponent, exponent)


def _quadratic(rng: Rng, price: float, capacity: float) -> Cost:
    return Quadratic(price / capacity**2)


def _piecewise(rng: Rng, price: float, capacity: float) -> Cost:
    starts = np.concatenate([[0.0], np.sort(rng.uniform(0.01, 1.2, int(rng.integers(0, 4)))) * capacity])
    slopes = np.cumsum(rng.uniform(0, 1, len(starts))) * price / capacity
    return Piecewise(starts, slopes, rng.choice([0.0, 0.0, 0.05, 0.4], len(starts)), rng.choice([0.0, 0.2]))


def _tabulated(rng: Rng, price: float, capacity: float) -> Cost:
    points = np.concatenate([[0.0], np.sort(rng.uniform(0.01, 1.2, int(rng.integers(1, 4)))) * capacity])
    slopes = np.cumsum(rng.uniform(0, 1, len(points) - 1)) * price / capacity
    return Tabulated(points, np.append(0.0, np.cumsum(np.diff(points) * slopes)))


def _congested(rng: Rng, price: float, capacity: float) -> Cost:
    bend = rng.uniform(0.1, 5.0) / capacity
    return Congested(price / np.expm1(bend * capacity), bend)


def _discs(rng: Rng, price: float, capacity: float) -> Cost:
    """At most twelve discs; `Discs` lists its breaks up to a fixed capacity, so it is for small ones only."""
    if capacity > 12:
        return _congested(rng, price, capacity)
    return Discs(
        rng.uniform(0, 0.3), max(capacity / rng.uniform(1, 8), 0.3), price / capacity, bool(rng.random() < 0.5)
    )


def _discount(rng: Rng, price: float, capacity: float) -> Cost:
    return Discount(price / np.sqrt(capacity))


LINEAR: dict[str, Callable[[Rng, float, float], Cost]] = {"linear": _linear, "affine": _affine}
COSTS: dict[str, Callable[[Rng, float, float], Cost]] = {
    **LINEAR,
    "power": _power,
    "quadratic": _quadratic,
    "piecewise": _piecewise,
    "tabulated": _tabulated,
    "own convex": _congested,
    "own with jumps": _discs,
    "own not convex": _discount,
}


def draw_costs(rng: Rng, capacities: np.ndarray, *, linear: bool = False) -> list[Cost]:
    """One cost per owner: all linear, all of one family, or of any."""
    families = LINEAR if linear else COSTS
    alike = one_of(rng, families) if rng.random() < 0.4 else None
    level = 10 ** rng.uniform(-2.0, 1.0)
    prices = level * 10 ** rng.uniform(-0.5, 0.5, len(capacities))
    if rng.random() < 0.2:
        prices[:] = level
    return [
        (alike or one_of(rng, families))(rng, float(price), float(top))  # type: ignore[operator]
        for price, top in zip(prices, capacities, strict=True)
    ]


# Mechanisms: (rng, typical price of a unit) -> mechanism


def _shapley_method(rng: Rng) -> dict:
    return {} if rng.random() < 0.8 else {"method": "monte_carlo", "permutations": int(rng.integers(1, 30))}


MECHANISMS: dict[str, Callable[[Rng, float], Mechanism]] = {
    "BanzhafShare": lambda rng, unit: BanzhafShare(),
    "ContributionSubsidy": lambda rng, unit: ContributionSubsidy(unit * rng.uniform(0, 1.5)),
    "CostSharing": lambda rng, unit: CostSharing(rng.choice([0.0, rng.uniform(0, 1), 1.0])),
    "NoPayments": lambda rng, unit: NoPayments(),
    "PartialReciprocity": lambda rng, unit: PartialReciprocity(rng.uniform(0, 1), **_shapley_method(rng)),
    "ProportionalData": lambda rng, unit: ProportionalData(rng.choice([0.0, rng.uniform(0, 1), 1.0])),
    "ProportionalShapley": lambda rng, unit: ProportionalShapley(rng.choice([rng.uniform(0, 1), 1.0])),
    "ProportionalValue": lambda rng, unit: ProportionalValue(rng.choice([rng.uniform(0, 1), 1.0])),
    "Screening": lambda rng, unit: Screening(
        unit, unit * rng.uniform(1.05, 5.0), rng.choice([0.0, rng.uniform(0, 1), 1.0]), bool(rng.random() < 0.3)
    ),
    "ShapleyShare": lambda rng, unit: ShapleyShare(printed=bool(rng.random() < 0.2), **_shapley_method(rng)),
    "TullockContest": lambda rng, unit: TullockContest(rng.uniform(0, 3), rng.choice([0.5, 1.0, rng.uniform(0.3, 3)])),
    "ValueShaping": lambda rng, unit: ValueShaping(rng.choice([0.0, unit * rng.uniform(0, 0.3)])),
}


@dataclass(frozen=True)
class Squares(Mechanism):
    """A user's own rule whose payment is convex, built by the README's recipe; it may promise more than is so."""

    rate: float
    promised: Shape | None = None
    budget_balanced = False

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and money for the square of the own contribution."""
        claimed = reports.contribution
        return full_access(accuracy, claimed, Square(np.full(len(claimed), self.rate)), self.promised)


@dataclass(frozen=True)
class Square(OneCurve):
    """rate x^2."""

    rate: np.ndarray

    def value(self, x: np.ndarray) -> np.ndarray:
        return align_rows(self.rate, x) * x * x

    def slope(self, x: np.ndarray) -> np.ndarray:
        return 2 * align_rows(self.rate, x) * x

    def take(self, rows: object) -> Square:
        return Square(self.rate[rows])  # type: ignore[index]


MECHANISMS["Squares"] = lambda rng, unit: Squares(unit * 10 ** rng.uniform(-3, 1), rng.choice([None, None, "monotone"]))
MECHANISMS["PaymentRule"] = lambda rng, unit: PaymentRule(
    lambda accuracy, reports: unit * (reports.contribution - reports.contribution.mean())
)
#: further rules that can be made without parameters, by name
LATER: dict[str, Callable[[Rng, float], Mechanism]] = {
    kind.__name__: (lambda rng, unit, kind=kind: kind())  # type: ignore[misc]
    for kind in kinds(fedabm.mechanisms, fedabm.mechanisms.Mechanism).values()
    if kind.promises
    and kind.__name__ not in MECHANISMS
    and all(part.default is not MISSING or part.default_factory is not MISSING for part in fields(kind))
}


def draw_mechanism(rng: Rng, unit: float, name: str | None = None) -> Mechanism:
    """A mechanism that promises something, for owners whose data cost about `unit` each."""
    choices = MECHANISMS | LATER
    return (one_of(rng, choices) if name is None else choices[name])(rng, unit)  # type: ignore[operator]


#: rules that take long to ask are drawn less often
_SLOW = ("Clarke", "PaymentRule")
#: looking at every coalition takes long where there are more owners than this
_FEW = {"ShapleyShare": 6, "PartialReciprocity": 6, "BanzhafShare": 6, "ProportionalShapley": 5, "Clarke": 3}


#: rules that share by all coalitions
SHARING = ("BanzhafShare", "PartialReciprocity", "ShapleyShare")
#: what these are played for where there are many owners, so that they can be settled by counting: totals matter
_OF_TOTAL = ("PAC bound", "power law", "viability")
#: never with many owners: what they ask takes long
_NEVER_MANY = ("Clarke", "ProportionalShapley")


@dataclass(frozen=True)
class Facts:
    """What a game and a federation have in common."""

    accuracy: Accuracy
    costs: list[Cost]
    capacities: np.ndarray
    mechanism: Mechanism


def draw_facts(
    rng: Rng, mechanism: str | None = None, accuracy: str | None = None, *, many: bool = False, sharing: bool = True
) -> Facts:
    """Owners, what they play for, and the rule; `many` are 13 to 40, with rules of all coalitions only if `sharing`."""
    capacity = 10 ** rng.choice([-2.0, 0.0, 1.0, 1.0, 1.0, 2.0, 4.0])
    names = sorted(MECHANISMS | LATER)
    if many:
        names = [name for name in names if name not in _NEVER_MANY and (sharing or name not in SHARING)]
    weights = np.array([0.1 if name in _SLOW else 1.0 for name in names])
    name = mechanism or str(rng.choice(names, p=weights / weights.sum()))
    owners = int(min(rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 12]), _FEW.get(name, 40)))
    alike = False
    if many:
        owners, alike = int(rng.integers(13, 41)), name in SHARING
        accuracy = str(rng.choice(_OF_TOTAL)) if alike else accuracy
    unlike = rng.random() < 0.8 and not alike
    capacities = capacity * (10 ** rng.uniform(-0.5, 0.5, owners) if unlike else np.ones(owners))
    costs = draw_costs(rng, capacities, linear=name in ("RealFM", "ValueShaping"))
    prices = [float(cost.value(np.array([top]))[0]) / top for cost, top in zip(costs, capacities, strict=True)]
    unit = float(np.median(prices))
    rule = draw_mechanism(rng, max(unit, 1e-9), name)
    return Facts(draw_accuracy(rng, owners, float(capacities.sum()), accuracy), costs, capacities, rule)


def draw_game(rng: Rng, mechanism: str | None = None, accuracy: str | None = None, *, many: bool = False) -> Game:
    """A random game; `mechanism` and `accuracy` may name a class and a family; of few owners, or of `many`."""
    facts = draw_facts(rng, mechanism, accuracy, many=many)
    return Game(facts.accuracy, facts.costs, facts.capacities, facts.mechanism)


def draw_strategy(rng: Rng, unit: float) -> Strategy:
    """What an owner does; every third lies about some of it."""
    truth = one_of(
        rng,
        {
            "best": BestResponse(),
            "bounded": BestResponse(rng.uniform(0.2, 1.0)),
            "gradient": GradientResponse(unit),
            "fixed": FixedShare(rng.uniform(0, 1)),
            "free": FreeRider(),
            "honest": Honest(),
            "random": Random(0.1, 0.9),
            "quits": Quitter(BestResponse(), chance=0.1),
        },
    )
    if rng.random() < 0.65:
        return truth  # type: ignore[return-value]
    factors = np.where(rng.random(3) < 0.6, 10 ** rng.uniform(-0.7, 0.7, 3), 1.0)
    return Liar(truth, *factors.tolist())  # type: ignore[arg-type]


def draw_scenario(
    rng: Rng, mechanism: str | None = None, accuracy: str | None = None, *, many: bool = False
) -> Scenario:
    """A random federation of a few steps; `mechanism` and `accuracy` may name a class and a family."""
    facts = draw_facts(rng, mechanism, accuracy, many=many, sharing=False)
    late = rng.random() < 0.2
    owners = [
        OwnerProfile(cost, float(top), draw_strategy(rng, float(top)), joins=int(rng.integers(1, 4)) if late else 1)
        for cost, top in zip(facts.costs, facts.capacities, strict=True)
    ]
    activation = Simultaneous() if rng.random() < 0.5 else Sequential()
    return Scenario(owners, facts.accuracy, facts.mechanism, activation, steps=int(rng.integers(1, 5)))
