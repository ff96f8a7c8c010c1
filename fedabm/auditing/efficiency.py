"""Claims about the outcome: equilibria, welfare, data, reciprocity, information, and how they change with n."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.auditing.claims import Claim, Status, stake
from fedabm.auditing.deviations import Deviation, LieLimits, with_deviations
from fedabm.auditing.kinds import Tried, best_statement
from fedabm.auditing.search import SearchEffort, best_lies
from fedabm.auditing.stage import Stage
from fedabm.common.errors import FedabmError, InputError
from fedabm.common.texts import others, readable
from fedabm.games.costs import PowerCost
from fedabm.games.curves import Array
from fedabm.games.money import net_welfare
from fedabm.games.welfare import welfare_optimum
from fedabm.mechanisms import NoPayments
from fedabm.mechanisms.wrapper import RuleWrapper
from fedabm.shapley import shapley
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.solving.metrics import data_gain, price_of_anarchy, reciprocity
from fedabm.solving.several import solve_all
from fedabm.views import Reports

__all__ = ["about_equilibria", "about_harm", "about_information", "about_number", "about_outcome", "about_sampling"]


def about_equilibria(stage: Stage, starts: int | None) -> tuple[Claim, list[Equilibrium]]:
    """Whether there is an equilibrium, and how many were found."""
    name, solved = "equilibria", stage.solved
    if solved is None:
        return Claim(name, None, "unknown", np.nan, "the rule promises nothing for a contribution"), []
    if not solved.converged:
        return _without_equilibrium(name, solved), []
    several = solve_all(stage.game, starts=0 if starts is None else starts)
    found = list(several.every) or [solved]
    number = {True: "it is the only one", False: "it is not the only one", None: "others may exist"}[several.unique]
    words = (
        f"certified: at this profile nobody gains more than {solved.gap:.1g} by another contribution; {number}: "
        f"{several.reason}"
    )
    return Claim(name, holds=True, status="certified", value=float(len(found)), words=words), found


def _without_equilibrium(name: str, solved: Equilibrium) -> Claim:
    if solved.cycle is not None:
        words = f"best responses run in a circle of {len(solved.cycle)} profiles, and nothing else was found"
        return _nowhere(name, words)
    if np.isfinite(solved.gap):
        words = f"no equilibrium was found: at the best profile somebody still gains up to {readable(solved.gap, 3)}"
        return _nowhere(name, words)
    reason = "the rule promises no shape" if solved.standard_errors is None else "shares are means over sampled orders"
    words = f"a profile from which no search gains was found, but {reason}, so nothing is proven"
    return Claim(name, None, "unknown", np.nan, words)


def _nowhere(name: str, words: str) -> Claim:
    known = Claim(name, holds=False, status="found", value=0.0, words=words)
    return replace(known, flaw="has no equilibrium", severity=np.inf, broken=True)


def about_sampling(stage: Stage) -> list[Claim]:
    """That shares are sampled, and how far off they are, where they are."""
    if not stage.plays_a_game or not stage.offers.payment.sampled:
        return []
    error = float(np.max(stage.offers.payment.errors(stage.profile)))
    words = (
        f"shares are means over sampled orders: payments have standard errors of up to {error:.2g} "
        f"({100.0 * error / stake(stage):.1g}% of what an owner has), and nothing about the rule itself is certified"
    )
    return [Claim("sampled shares", None, "found", error, words)]


def about_outcome(stage: Stage, known: list[Equilibrium]) -> list[Claim]:
    """Price of anarchy and stability, data gain and reciprocity, over the equilibria found."""
    names = ("net welfare", "price of anarchy", "price of stability", "data gain", "reciprocity")
    if not known:
        return [Claim(name, None, "unknown", np.nan, "no equilibrium is known") for name in names]
    best = stage.owners * welfare_optimum(stage.accuracy, stage.costs, stage.capacities).welfare
    welfare = np.array([one.net_welfare for one in known])
    # The optimum is a local climb where accuracies are not concave: it is no less than what is known.
    best = max(best, float(welfare.max()))
    claims = [_price(names[1], best, welfare.min(), "worst"), _price(names[2], best, welfare.max(), "best")]
    base = solve(Game(stage.accuracy.public, stage.costs, stage.capacities, NoPayments()))
    gain = data_gain(np.array([one.profile for one in known]), base.profile[None])
    words = f"{readable(gain)} times the data of an equilibrium without payments ({readable(base.profile.sum())})"
    claims.append(Claim(names[3], None, "found", gain, words))
    return [_money(known), *claims, _reciprocity(stage, known)]


def _money(known: list[Equilibrium]) -> Claim:
    """Welfare without money from outside, at the equilibrium where that is least."""
    worst = min(known, key=lambda one: one.net_welfare)
    outside = worst.outside_money
    words = f"welfare net of outside money is {readable(worst.net_welfare)} at the worst equilibrium found"
    if outside:
        much = readable(abs(outside))
        words += f"; owners get {much} from outside" if outside > 0 else f"; {much} is left outside"
    return Claim("net welfare", None, "found", worst.net_welfare, words)


def _price(name: str, best: float, reached: float, which: str) -> Claim:
    ratio = price_of_anarchy(reached, best)
    words = f"the best total is {readable(best)}, the {which} equilibrium found has {readable(reached)}"
    return Claim(name, None, "found", float(ratio), words)


def _reciprocity(stage: Stage, known: list[Equilibrium]) -> Claim:
    try:
        shares = np.array([np.asarray(shapley(stage.accuracy, one.profile)) for one in known])
    except FedabmError as error:
        return Claim("reciprocity", None, "unknown", np.nan, f"no Shapley shares: {error}")
    accuracies, payments = (np.array([getattr(one, part) for one in known]) for part in ("accuracies", "payments"))
    least = reciprocity(accuracies, payments, shares, stage.accuracy.at_zero(stage.owners))
    if not np.isfinite(least):
        return Claim("reciprocity", None, "unknown", np.nan, "nobody's Shapley share is above what it has without data")
    words = f"for each unit of its Shapley share the worst owner gets {readable(least)}"
    return Claim("reciprocity", None, "found", least, words)


def about_harm(stage: Stage, tried: list[Tried], limits: LieLimits) -> Claim:
    """The most that one owner can do to all others by what it contributes and claims, whatever that costs it."""
    name, everyone = "harm of one owner", stage.settled.utility
    worst = max(tried, key=lambda one: one.loss, default=None)
    harm, words = (worst.loss, worst.words) if worst else (0.0, "")
    if stage.plays_a_game:
        for owner in np.argsort(-stage.profile)[:3].tolist():
            capacity = float(stage.capacities[owner])
            for claim in (0.0, 0.5, 1.0, limits.claim):
                lie = Deviation(0.0, claim * capacity, capacity * max(claim, 1.0))
                settled = stage.settle(with_deviations(stage, [owner], [lie])).utility
                loss = float(np.delete(everyone - settled, owner).sum())
                if loss > harm:
                    harm, words = loss, f"{stage.who(owner)} contributes nothing and claims {readable(lie.claim)}"
    share = 100.0 * harm / max(float(np.abs(everyone).sum()), 1e-12)
    said = f"{words}: {others(harm)} ({share:.0f}% of what all have)" if harm > 0 else "none was found"
    return Claim(name, None, "found", harm, said)


def about_information(stage: Stage, tried: list[Tried], limits: LieLimits, effort: SearchEffort) -> Claim:
    """What it costs that costs cannot be verified: data and welfare if everybody states its best lie about its cost."""
    name = "cost of information"
    if not stage.mechanism.asks_cost:
        return Claim(name, None, "certified", 0.0, "the rule asks for no costs, so there is nothing to verify", 0.0)
    if not stage.plays_a_game or not stage.costs.traits.power or stage.solved is None:
        return Claim(name, None, "unknown", np.nan, "costs are not all of one closed family, or no game is played")
    factors = np.array([best_statement(stage, owner, "cost", limits)[1].cost for owner in range(stage.owners)])
    if np.all(factors == 1.0):
        return Claim(name, None, "found", 0.0, "nobody was found to gain by another cost than its own: nothing changes")
    lied = solve(Game(stage.accuracy.public, stage.costs, stage.capacities, Misheard(stage.mechanism, factors)))
    data = float(lied.profile.sum() - stage.profile.sum())
    before = float(net_welfare(stage.settled.utility, stage.settled.payment))
    after = lied.net_welfare
    stated = ", ".join(f"{factor:.2g}" for factor in factors)
    words = (
        f"if all state what is best for them (times {stated}), data change by {readable(data, sign=True)} "
        f"and welfare by {readable(after - before, sign=True)}"
    )
    words += "" if lied.converged else "; no equilibrium of that was certified"
    return Claim(name, None, "found", before - after, words)


@dataclass(frozen=True, eq=False)
class Misheard(RuleWrapper):
    """A rule that hears every owner's cost times a factor; what owners do follows their true costs."""

    factors: Array
    asks_cost = True

    def hears(self, reports: Reports) -> Reports:
        """The costs, times what each owner lies by."""
        cost = None if reports.cost is None else reports.cost.as_power()
        if cost is None:
            got = repr(reports.cost)
            raise InputError(f"lies about costs need a closed family of costs, got {got}; use Linear or PowerCost")
        stated = PowerCost(cost.rate * self.factors, cost.exponent, cost.fixed * self.factors)
        return replace(reports, cost=stated)


def about_number(stage: Stage, limits: LieLimits, effort: SearchEffort) -> Claim:
    """How the best lie changes with the number of owners: the first few of them, and all."""
    sizes = sorted({max(stage.owners // 4, 2), max(stage.owners // 2, 2), stage.owners})
    quick = replace(effort, owners=2, questions=min(effort.questions, 40))
    gains = []
    for size in sizes[:-1]:
        fewer = stage.among(range(size))
        gains.append(best_lies(fewer, limits, quick)[0].gain / stake(fewer))
    gains.append(best_lies(stage, limits, quick)[0].gain / stake(stage))
    shown = ", ".join(f"{readable(gain, 3)} with {size}" for size, gain in zip(sizes, gains, strict=True))
    status: Status = "found"
    words = f"best lie in units of what an owner has, by number of owners: {shown}"
    trend = gains[-1] - gains[0] if len(gains) > 1 else np.nan
    return Claim("more owners", None, status, float(trend), words)
