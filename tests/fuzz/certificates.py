"""Nobody beats a certificate: random games and federations, and deviations judged by an independent evaluator.

    python -m tests.fuzz.certificates --games 5000 [--seed 0]

Three of four cases are games: the bounds of `Game.gains` at random profiles, and those of `solve`.  Every fourth is a
federation with liars, learners and leavers, and the regrets after its last step.  A case is bad if an owner finds a
deviation that gains more than was certified, by more than 1e-9 of the amounts involved.  Exit code 1 if any is.

Of twenty cases two have 13 to 40 owners, one is played for stairs, and one has slopes of a user's own that are wrong:
these are refused, or what is certified holds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from fedabm import Federation, Game, InputError, Scenario, solve
from fedabm.games.accuracy import Accuracy
from fedabm.games.costs import Cost
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.views import Reports
from tests.fuzz.games import LATER, MECHANISMS, SHARING, draw_game, draw_scenario
from tests.fuzz.reference import MANY, settled

__all__ = ["Case", "Tally", "case", "main", "tried"]

#: how much more than certified a deviation may gain, as a share of the amounts involved
MARGIN = 1e-9
#: of many owners only some are asked
ASKED = 2
#: how many of the games are solved
SOLVED = 0.15


@dataclass(frozen=True)
class Case:
    """What was certified to owners at a profile, in a game where the others' reports stand."""

    what: str
    mechanism: Mechanism
    accuracy: Accuracy
    reports: Reports
    costs: Cost
    capacities: np.ndarray
    profile: np.ndarray
    bounds: np.ndarray

    def beaten(self, rng: np.random.Generator) -> str | None:
        """The worst owner's gain beyond its bound, in words; None if nobody finds one."""
        finite = np.flatnonzero(np.isfinite(self.bounds))
        for owner in rng.permutation(finite)[:ASKED].tolist():
            found = self._beaten(owner, rng)
            if found:
                return found
        return None

    def _beaten(self, owner: int, rng: np.random.Generator) -> str | None:
        top, here = float(self.capacities[owner]), float(self.profile[owner])
        cost = self.costs.take([owner])

        def utility(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            got = settled(self.mechanism, self.accuracy, self.reports, owner, x)
            spent = np.array([float(cost.value(np.array([mine]))[0]) for mine in x])
            return got.received + got.payment - spent, got.size + np.abs(got.payment) + np.abs(spent)

        (now,), (size,) = utility(np.array([here]))
        x = tried(rng, here, top)
        for _ in range(2):
            u, amounts = utility(x)
            allowed = self.bounds[owner] + MARGIN * np.maximum(amounts, size)
            worst = int(np.argmax(u - now - allowed))
            if u[worst] - now > allowed[worst]:
                return (
                    f"{self.what}: owner {owner} moves from {here!r} to {x[worst]!r} of {top!r} and gains "
                    f"{u[worst] - now:.6g}, certified {self.bounds[owner]:.6g}"
                )
            best = int(np.argmax(u))
            ordered = np.sort(x)
            place = int(np.searchsorted(ordered, x[best]))
            x = np.linspace(ordered[max(place - 1, 0)], ordered[min(place + 1, len(x) - 1)], 13)
        return None


def tried(rng: np.random.Generator, here: float, top: float) -> np.ndarray:
    """Deviations: the ends, next to nothing, next to the present one, evenly, and anywhere."""
    near = here * (1 + np.array([-1e-3, -1e-6, 1e-6, 1e-3]))
    small = top * np.array([1e-12, 1e-9, 1e-6, 1e-3])
    x = np.concatenate([[0.0, top], near, small, np.linspace(0, top, 17), top * rng.random(4) ** 2])
    return np.unique(np.clip(x, 0.0, top))


@dataclass
class Tally:
    """What came of all cases."""

    kinds: Counter = field(default_factory=Counter)
    beaten: list[str] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)

    def table(self) -> str:
        """The counts, and the slowest."""
        lines = [f"{count:7d}  {kind}" for kind, count in sorted(self.kinds.items())]
        lines += [f"{seconds:6.1f} s  {name}" for seconds, name in sorted(self.slow, reverse=True)[:5]]
        return "\n".join(lines)


def case(seed: int, number: int, tally: Tally, mechanism: str | None = None) -> list[str]:
    """Make one case from its number, look for deviations, and say which bounds are beaten."""
    rng = np.random.default_rng([seed, number])
    draw, judge = (draw_scenario, _federation) if number % 4 == 3 else (draw_game, _game)
    family = {12: "stairs", 17: "mistaken"}.get(number % 20)
    many = number % 20 in (6, 15)
    tally.kinds["of 13 to 40 owners"] += many
    try:
        if family == "mistaken" and number % 40 == 17:
            return _game(wrong_cost(draw_game(rng, mechanism), rng), rng, tally)
        drawn = draw(rng, mechanism, family, many=many)
    except InputError as refused:
        if family != "mistaken" or "has slope" not in str(refused):
            raise
        tally.kinds["wrong slope refused"] += 1
        return []
    tally.kinds["wrong slope taken"] += family == "mistaken"
    if not getattr(drawn.mechanism, "promised", None):
        return judge(drawn, rng, tally)
    # A user's own rule that may promise too much: then it is refused, which is right.
    with suppress(InputError):
        return judge(drawn, rng, tally)
    tally.kinds["broken promise refused"] += 1
    return []


def wrong_cost(game: Game, rng: np.random.Generator) -> Game:
    """The same owners without payments, and a cost of which the slope is another function's."""
    prices = np.maximum(game.costs.value(game.capacities), 1e-9) / game.capacities
    top = game.capacities[0]
    ends = top * np.array([(0.0, 2.0), (0.0, rng.choice([1e-6, 0.01])), (0.5, 0.6), (0.999, 2.0)][rng.integers(4)])
    wrong = Mistaken(prices[0] / top, rng.choice([-1.0, 0.5, 0.9, 1.1, 3.0, np.nan, np.inf]), *ends.tolist())
    return Game(game.accuracy, [wrong, *prices[1:].tolist()], game.capacities, NoPayments())


@dataclass(frozen=True)
class Mistaken(Cost):
    """rate x^2, with a slope that on a stretch is so many times what it should be."""

    rate: float
    factor: float
    low: float
    high: float

    def value(self, x: np.ndarray) -> np.ndarray:
        return self.rate * x * x

    def slope(self, x: np.ndarray) -> np.ndarray:
        return 2 * self.rate * x * np.where((x >= self.low) & (x <= self.high), self.factor, 1.0)


def _game(game: Game, rng: np.random.Generator, tally: Tally) -> list[str]:
    shares = rng.choice([0.0, rng.uniform(0, 1), 1.0], game.owners, p=[0.2, 0.6, 0.2])
    drawn = game.capacities * (shares * rng.random(game.owners) if rng.random() < 0.8 else shares)
    countable = game.owners > MANY and type(game.mechanism).__name__ in SHARING
    if countable:  # by the evaluator: quarters of what all have
        drawn = game.capacities * (np.ceil(4 * shares * rng.random(game.owners)) / 4)
    found = [("gains at a random profile", drawn, game.gains(drawn))]
    if rng.random() < SOLVED and not countable:
        ended = solve(game, time_limit=2.0)
        tally.kinds[f"solve: {ended.verdict}"] += 1
        found.append((f"solve by {ended.method}", ended.profile, np.full(game.owners, ended.gap)))
    beaten = []
    for what, profile, bounds in found:
        tally.kinds["bound proven" if np.all(np.isfinite(bounds)) else "bound unknown"] += 1
        facts = (game.reports(profile), game.costs, game.capacities)
        one = Case(what, game.mechanism, game.accuracy, *facts, profile, bounds).beaten(rng)
        beaten += [f"{one}\n    {_words(game)}"] if one else []
    return beaten


def _federation(scenario: Scenario, rng: np.random.Generator, tally: Tally) -> list[str]:
    run = Federation(scenario, int(rng.integers(1000)))
    run.run()
    people, present = run.population, run.population.present
    if not len(present):
        tally.kinds["federation: all left"] += 1
        return []
    bounds = run.regrets()[present]
    tally.kinds["regret proven" if np.all(np.isfinite(bounds)) else "regret unknown"] += 1
    reports, oracle = run.announce(present)
    facts = (reports, people.cost.take(present), people.capacity[present], people.contribution[present])
    one = Case("regret", scenario.mechanism, oracle, *facts, bounds).beaten(rng)
    if not one:
        return []
    game = Game(scenario.accuracy, [owner.cost for owner in scenario.owners], people.capacity, scenario.mechanism)
    told = ", ".join(type(owner.strategy).__name__ for owner in scenario.owners)
    claims = f"claimed {reports.contribution.tolist()}, sizes {reports.size.tolist()}"
    return [f"{one}\n    {_words(game)}\n    {told}; {claims}"]


def _words(game: Game) -> str:
    accuracy = " ".join(repr(game.accuracy).split())
    return (
        f"{game.mechanism!r}, {accuracy[:300]}, {game.owners} owners, costs {game.costs!r}, {game.capacities.tolist()}"
    )


def run(games: int, seed: int, first: int = 0, mechanism: str | None = None, limit: float = np.inf) -> Tally:
    """All cases from `first` on, as long as the time in seconds lasts."""
    tally, began = Tally(), time.perf_counter()
    for number in range(first, first + games):
        start = time.perf_counter()
        if start - began > limit:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                beaten = case(seed, number, tally, mechanism)
            except Warning as warning:
                beaten = [f"a warning reached the user: {warning}"]
            except Exception as error:
                beaten = [f"it failed: {type(error).__name__}: {error}"]
        tally.kinds["cases"] += 1
        for one in beaten:
            tally.beaten.append(one)
            print(f"case {number} of seed {seed}: {one}", flush=True)
        seconds = time.perf_counter() - start
        tally.slow = sorted([*tally.slow, (seconds, f"case {number}")], reverse=True)[:5]
    return tally


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.certificates", description=__doc__.split("\n")[0])
    parser.add_argument("--games", type=int, default=200, help="how many cases (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="another one draws other cases (default 0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (default 0)")
    parser.add_argument("--mechanism", choices=sorted(MECHANISMS | LATER), help="only this one")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    tally = run(options.games, options.seed, options.first, options.mechanism)
    print(tally.table())
    print(
        f"{len(tally.beaten)} certificates beaten in {tally.kinds['cases']} cases, {time.perf_counter() - began:.0f} s"
    )
    return 1 if tally.beaten else 0


if __name__ == "__main__":
    sys.exit(main())
