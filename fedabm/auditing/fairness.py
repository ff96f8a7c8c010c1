"""Claims about what a rule does to those who tell the truth: rationality, budget, equal treatment, more for more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedabm.auditing.claims import Claim, Status, stake, theorem
from fedabm.auditing.stage import Stage, StagePlay
from fedabm.common.texts import readable
from fedabm.games.best import best_response
from fedabm.games.costs import replaced
from fedabm.games.curves import Array
from fedabm.games.valuation import ReceivedAccuracy

__all__ = ["about_budget", "about_equals", "about_rationality", "about_reward"]

_ROUNDING = 1e-9


def profiles(stage: Stage, count: int, seed: int) -> Array:
    """The truth, nobody, everybody with all, and random profiles, some owners at an end of their range."""
    rng = np.random.default_rng([seed, 77])
    shares = rng.uniform(0.0, 1.0, (count, stage.owners))
    at_end = rng.uniform(size=shares.shape) < 0.2
    shares = np.where(at_end, np.round(shares), shares)
    fixed = np.stack([stage.profile, np.zeros(stage.owners), stage.capacities])
    return np.concatenate([fixed, shares * stage.capacities])


def about_rationality(stage: Stage, count: int, seed: int) -> Claim:
    """Whether anybody is worse off than outside, after the fact: at the truth, and whatever the others contribute."""
    here = (stage.honest.utility if stage.plays_a_game else stage.settled.utility) - stage.outside
    unit, worst = stake(stage), int(np.argmin(here))
    option = "its best model of its own data" if isinstance(stage.valuation, ReceivedAccuracy) else "not to trade"
    reference = theorem(stage, "rationality")
    holds = bool(here[worst] >= -1e-6 * unit)
    words = f"at the truth {stage.who(worst)} has {readable(here[worst], sign=True)} against {option}"
    low = float(here[worst])
    if stage.plays_a_game:
        low, who = _worst_over(stage, profiles(stage, count, seed))
        low = min(low, float(here[worst]))
        words += f"; over {count + 3} profiles of the others the worst is {readable(low, sign=True)}"
        words += f" ({stage.who(who)})" if low < -1e-6 * unit else ""
    always = low >= -1e-6 * unit
    status: Status = "theorem" if reference and always else "found"
    flaw = "" if holds else "punishes joining"
    if holds and not always:
        words += ": rational at the truth only"
    severity = max(-float(here[worst]), 0.0) / unit
    return Claim(
        "individual rationality", holds and always, status, float(here[worst]), words, np.inf, reference, flaw, severity
    )


def _worst_over(stage: Stage, trials: Array) -> tuple[float, int]:
    """The least that an owner's best honest reply brings it over being outside, and whose it is."""
    low, who = np.inf, 0
    for profile in trials:
        reports = stage.heard(replace(stage.truth.reports, contribution=profile))
        offers = stage.mechanism.offers(stage.accuracy.public, reports)
        surplus = best_response(offers, stage.costs, stage.capacities).utility - stage.outside
        if surplus.min() < low:
            low, who = float(surplus.min()), int(np.argmin(surplus))
    return low, who


def about_budget(stage: Stage, count: int, seed: int) -> Claim:
    """What the server pays out in all: at the truth, and the most and the least over many profiles."""
    trials = profiles(stage, count, seed) if stage.plays_a_game else stage.profile[None]
    sums, sizes = [], []
    for profile in trials:
        play = StagePlay(stage.truth.owner, profile, replace(stage.truth.reports, contribution=profile))
        paid = stage.outcome(play, stage.accuracy).payments
        sums.append(float(paid.sum()))
        sizes.append(float(np.abs(paid).sum()))
    total = sums[0]
    low = min(sums)
    high = max(sums)
    rounding = _ROUNDING * max(max(sizes), 1e-3)
    holds = max(abs(low), abs(high)) <= rounding
    reference, promised = theorem(stage, "budget"), stage.mechanism.budget_balanced
    status: Status = "theorem" if holds and reference else "found"
    where = f"{len(trials)} profiles"
    worst = high if abs(high) >= abs(low) else low
    if holds:
        words = f"payments sum to zero at {where} (largest sum {max(abs(low), abs(high)):.1g})"
    else:
        words = f"at the truth {_account(total)}; over {where} from {_account(low)} to {_account(high)}"
    broken = promised and not holds
    words += "; the class promises a balanced budget" if broken else ""
    deficit = max(total, 0.0) + 0.25 * max(-total, 0.0)
    severity = max(deficit, 0.1 * abs(worst)) / stage.owners / stake(stage)
    flaw = "" if holds else "leaks money" if high > rounding else "burns money"
    return Claim("budget balance", holds, status, worst, words, abs(worst), reference, flaw, severity, broken)


def _account(total: float) -> str:
    return f"the server pays {readable(total)}" if total >= 0 else f"the server keeps {readable(-total)}"


def about_equals(stage: Stage, count: int, seed: int) -> Claim:
    """Whether two owners that are equal in everything are handed the same."""
    name = "equal treatment"
    if not (isinstance(stage.valuation, ReceivedAccuracy) and stage.plays_a_game and stage.accuracy.traits.of_total):
        return Claim(name, None, "unknown", np.nan, "no two owners can be made equal on this stage")
    if stage.owners < 2:
        return Claim(name, None, "unknown", np.nan, "there is only one owner")
    twin = replaced(stage.costs, np.array([1]), stage.costs.take([0]))
    size = stage.capacities.copy()
    size[1] = size[0]
    alike = replace(stage, costs=twin, capacities=size)
    worst = 0.0
    trials = profiles(stage, count, seed)
    for profile in trials:
        given = np.minimum(profile, size)
        given[1] = given[0]
        reports = replace(stage.truth.reports, contribution=given, size=size, cost=twin)
        outcome = alike.outcome(StagePlay(stage.truth.owner, given, reports), stage.accuracy)
        scale = max(float(np.abs(outcome.payments).max()), 1.0)
        worst = max(worst, *(abs(float(part[0] - part[1])) / scale for part in (outcome.payments, outcome.access)))
    holds = worst <= 1e-7
    words = f"twins get the same at {len(trials)} profiles" if holds else f"twins differ by up to {readable(worst, 3)}"
    broken = stage.mechanism.equal_treatment and not holds
    words += "; the class promises equal treatment" if broken else ""
    flaw = "" if holds else "treats equals unequally"
    return Claim(name, holds, "found", worst, words, np.inf, "", flaw, worst / stake(stage), broken)


def about_reward(stage: Stage) -> Claim:
    """Whether more data bring more reward: received + payment along the own contribution."""
    name = "more for more"
    if not stage.plays_a_game:
        return Claim(name, None, "unknown", np.nan, "the rule promises nothing for a contribution")
    offers = stage.offers
    x = stage.capacities[:, None] * np.linspace(0.0, 1.0, 129)
    reward = offers.benefit.value(x)
    fall = np.maximum.accumulate(reward, axis=1) - reward
    owner = int(np.argmax(fall.max(axis=1)))
    worst = float(fall.max())
    unit = stake(stage)
    holds = worst <= 1e-9 * max(unit, 1.0)
    proven = offers.shape == "monotone" and not offers.benefit.sampled
    status: Status = "certified" if holds and proven else "found"
    words = "the reward never falls with the own data (129 points for each owner)"
    if not holds:
        words = f"the reward of {stage.who(owner)} falls by up to {readable(worst)} as it contributes more"
    flaw = "" if holds else "punishes data"
    return Claim(name, holds, status, worst, words, np.inf, "", flaw, 0.1 * worst / unit)
