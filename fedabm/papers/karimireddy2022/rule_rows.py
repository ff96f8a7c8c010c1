"""Karimireddy et al. 2022: GPT-3, proportional rules and unverifiable costs, rows K13 to K22."""

from __future__ import annotations

import numpy as np

from fedabm.games.accuracy import PacBound, PowerLaw
from fedabm.games.best import best_response
from fedabm.games.costs import Linear, stack
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum, viability_cost
from fedabm.games.intervals import ProofLimits
from fedabm.mechanisms import ProportionalData, ProportionalShapley, ProportionalValue, Screening
from fedabm.mechanisms.proportional import Proportional
from fedabm.papers.karimireddy2022.menus import one_owner, over_chances
from fedabm.papers.karimireddy2022.proportional import Market, largest_symmetric
from fedabm.papers.karimireddy2022.shaping import shaped_total, value_of_tokens
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.standard import ClaimPart, joined
from fedabm.papers.ledger.trials import agree, close, numbers, play, trials
from fedabm.views import Reports

Value = PacBound | PowerLaw

_EXPONENT = "the exponent 0.95 is evidently 0.095, the value of Kaplan et al. 2020"
_RULES: tuple[type[Proportional], ...] = (ProportionalData, ProportionalValue, ProportionalShapley)


@row(
    "K13",
    "Fig. 5 (a): loss of GPT-3 against its data",
    published="(5.4e13/m)^0.95",
    preset="fedabm run gpt3",
)
def figure_5a(budget: Budget) -> Finding:
    """The loss at the 5e11 tokens of GPT-3 with both exponents, from the value function."""

    def loss(exponent: float) -> float:
        accuracy = value_of_tokens(exponent)
        return accuracy.scale / accuracy.ceiling * 5e11**-accuracy.exponent

    printed, right = loss(0.95), loss(0.095)
    ours = f"loss at 5e11 tokens {right:.4g} with 0.095, {printed:.4g} with 0.95"
    # Losses of language models per token are a few nats at most.
    return corrected(ours, 1 < right < 4, _EXPONENT, as_printed=printed < 4)


@row("K14", "Fig. 5 (b): individual contribution against cost", preset="fedabm run gpt3")
def figure_5b(budget: Budget) -> Finding:
    """No company starts alone at 1e-3 USD per token; below the viability cost m* is on the optimality condition."""
    accuracy = value_of_tokens()
    limit = viability_cost(accuracy)
    rates = np.array([1e-3, 1.001 * limit, 0.999 * limit, 0.1 * limit])
    best = individual_optimum(accuracy, Linear(rates), accuracy.ceiling / rates)[0]
    closed = (accuracy.scale * accuracy.exponent / rates[2:]) ** (1 / (1 + accuracy.exponent))
    right = not np.any(best[:2]) and close(best[2:] / closed, 1.0, 1e-9)
    ours = f"nothing above {limit:.4g} USD per token (estimate: 1e-3), below {best[2]:.4g} tokens and more"
    other = viability_cost(value_of_tokens(0.95))
    return corrected(ours, right and other < 1e-3, f"{_EXPONENT}; with 0.95 the cut-off is {other:.4g}")


@row(
    "K15",
    "Fig. 5 (c): at least 1000 companies",
    published="at least 1000; super-linear, then linear",
    preset="fedabm run gpt3",
)
def figure_5c(budget: Budget) -> Finding:
    """Smallest federations with both exponents, and how the data grow with their number."""
    table = play("gpt3", points=3)["summary"].set_index("exponent")["smallest n"]
    least, printed = int(table.loc[0.095]), int(table.loc[0.95])
    accuracy = value_of_tokens()
    many = np.array([1, 1.2, 100, 120]) * least
    totals = [shaped_total(accuracy, 1e-3, int(n)) for n in many]
    slopes = np.log([totals[1] / totals[0], totals[3] / totals[2]]) / np.log(1.2)
    right = (least, printed) == (1618, 224) and slopes[0] > 1.5 and close(slopes[1], 1.0, 0.2)
    ours = f"{least} companies with 0.095, {printed} with 0.95; slope of log data in log n {numbers(slopes, 2)}"
    return corrected(ours, right and least >= 1000, _EXPONENT, as_printed=printed >= 1000)


def _gap(rule: Proportional, accuracy: Value, cost: float, n: int, each: float) -> float:
    """The certified largest gain of one of n equal owners that contribute `each`."""
    size = 5 * accuracy.ceiling / cost / n
    offers = rule.offers(accuracy, Reports(np.full(n, each), np.full(n, size))).take([0])
    best = best_response(offers, stack([Linear(cost)]), np.array([size]), certify=ProofLimits())
    here = np.array([each])
    return float((best.bound - offers.received.value(here) + cost * here)[0])


@row(
    "K16",
    "Theorem VI: proportional rules have many equilibria, m*/n among them",
    preset="fedabm run proportional_rules",
)
def theorem_vi(budget: Budget) -> Finding:
    """Common contributions from m*/n on, certified for all three rules, and where utility is largest."""
    n = 4
    cost = 0.1
    accuracy = PowerLaw()
    least = individual_optimum(accuracy, Linear(np.array([cost])), np.array([20.0]))[0][0] / n
    factors = (1.0, 1.1, 1.5, 2.0, 3.0)
    gaps = [_gap(rule(p), accuracy, cost, n, f * least) for rule in _RULES for p in (0.6, 1.0) for f in factors]
    outside = min(_gap(rule(0.6), accuracy, cost, n, 0.9 * least) for rule in _RULES)
    utility = [float(accuracy.curve(np.array(n * f * least))) - cost * f * least for f in factors]
    ours = f"m*/n to 3 m*/n: largest gap {max(gaps):.1g} in {len(gaps)} cases; below m*/n at least {outside:.1g}"
    reason = (
        f"m*/n is the one with the least data, not the most utility ({utility[0]:.4g}, at 2 m*/n {utility[3]:.4g}); "
        "the inequality signs are reversed; the sum of PS runs k = 0 .. n-1"
    )
    right = max(gaps) < 1e-9 and outside > 1e-5
    return corrected(ours, right, reason, as_printed=utility[0] >= max(utility))


@row(
    "K17",
    "Fig. 6: total data against p for PD, PV, PS; never above value shaping",
    published="PS and PD perform well, PV badly, none matches value shaping even for the best p; 0 at p = 0 and p = 1",
    preset="fedabm run proportional_rules",
)
def figure_6(budget: Budget) -> Finding:
    """The scenario with the paper's 10,000 owners by its parts; and p = 1 if only small deviations are excluded."""
    owners = 10_000
    table = play("proportional_rules", owners=owners)["summary"]
    share = table.pivot_table(index="p", columns="rule", values="share of value shaping")
    small = largest_symmetric(Market(PacBound(), 0.1, owners), ProportionalData, np.array([1.0]), "small")[0]
    best = share.max()
    ours = (
        f"n = {owners:,}, of value shaping: best p {numbers(best[_SHORT], 3)} for PD, PV, PS; at p = 1 "
        f"{numbers(share.loc[1.0, _SHORT], 3)}; at p = 0 {numbers(share.loc[0.0, _SHORT], 3)}"
    )
    dropped = f"not if all deviations are excluded, leaving included; {small:g} if only small ones are"
    parts = (
        _part("nothing at p = 0", share.loc[0.0].max() == 0, "free-riding"),
        _part("PD and PS perform well, PV badly", best[["PD", "PS"]].min() > 0.9 and best["PV"] < 0.1, "best p"),
        _part("never above value shaping", best.max() <= 1 + 1e-6, f"at most {best.max():.6f}"),
        _part("do not match it even for the best p", best[["PD", "PS"]].max() < 1 - 1e-6, f"PD {best['PD']:.6f}"),
        _part("0 at p = 1", share.loc[1.0].max() == 0, dropped),
    )
    return joined(ours, parts)


_SHORT = ["PD", "PV", "PS"]


def _part(name: str, holds: bool, why: str) -> ClaimPart:
    return ClaimPart(name, "reproduced" if holds else "not reproducible", why)


@row(
    "K18",
    "Fig. 7: mixture of costs, up to 50 times more data, high-cost owners drop out under PD",
    published="50 times",
    preset="fedabm run cost_discrimination",
)
def figure_7(budget: Budget) -> Finding:
    """1 % low-cost owners among 10,000, with PD tuned for their data or for all data."""
    table = play("cost_discrimination", fractions=(0.01, 0.1, 0.5, 1.0))["summary"]
    rare = table[table["low-cost share"] == 0.01].set_index("mechanism")
    ratio, left = rare["value shaping / this"], rare["high-cost data"]
    tuned, total = "PD (low-cost owners)", "PD (total)"
    ours = f"{ratio[tuned]:.1f} times if PD is tuned for low-cost owners, {ratio[total]:.3f} times if for the total"
    right = bool((table["value shaping / this"] >= 1 - 1e-9).all()) and 50 < ratio[tuned] < 80 and left[tuned] == 0
    right = right and 1 <= ratio[total] < 1.02 and left[total] > 0 and float(table["gap"].max()) < 1e-6
    reason = (
        "how many times, and whether high-cost owners leave, depends on what p is tuned for and on the outside option"
    )
    return corrected(ours, right, reason, as_printed=ratio[total] >= 50)


def _situation(rng: np.random.Generator) -> tuple[Screening, Value, Reports]:
    """A menu, a value function and two owners' reports, in units of a high-cost owner's optimum alone."""
    accuracy: Value = PowerLaw(rng.uniform(0.3, 3.0), rng.uniform(0.2, 2.0), rng.uniform(0.5, 2.0))
    if rng.random() < 0.5:
        accuracy = PacBound(rng.uniform(0.5, 1.0), rng.uniform(0.5, 20.0))
    high = rng.uniform(0.05, 0.9) * viability_cost(accuracy)
    rule = Screening(high * rng.uniform(0.2, 0.95), high, rng.uniform(0, 1))
    size = np.full(2, 3 * accuracy.ceiling / rule.low)
    unit = individual_optimum(accuracy, Linear(np.full(2, high)), size)[0][0]
    return rule, accuracy, Reports(unit * rng.uniform(0, 2, 2), size)


def _expected(rule: Screening, accuracy: Value, reported: Reports, down: Array) -> Array:
    """(1 - p) up + p down, `up` being all that a high-cost owner bears while a low-cost one still prefers `down`."""
    _, utility = individual_optimum(accuracy, Linear(np.full(2, rule.high)), reported.size)
    full = accuracy.curves(reported.contribution).value(down)
    up = (full - rule.low * down - utility[:, None]) / (rule.high - rule.low)
    up = np.minimum(up, rule.menu(accuracy, reported).high_most[:, None])
    return (1 - rule.probability_low) * up + rule.probability_low * down


@row("K19", "Theorem VII: screening mechanism maximises expected data", preset="fedabm run screening")
def theorem_vii(budget: Budget) -> Finding:
    """No other corner of the menu expects more; the printed formula expects less."""
    lost: list[float] = []

    def missed(rng: np.random.Generator) -> float:
        rule, accuracy, reported = _situation(rng)
        printed = Screening(rule.low, rule.high, rule.probability_low, printed=True).menu(accuracy, reported)
        menu, share = rule.menu(accuracy, reported), np.linspace(0, 1, 501)
        grid = menu.high_most[:, None] * (1 - share) + menu.low_most[:, None] * share
        chosen = _expected(rule, accuracy, reported, menu.down[:, None])[:, 0]
        lost.append(
            float(np.max(chosen - _expected(rule, accuracy, reported, printed.down[:, None])[:, 0]) / reported.size[0])
        )
        return float(np.max(_expected(rule, accuracy, reported, grid).max(axis=1) - chosen) / reported.size[0])

    found = trials(budget, missed, 1e-8, share=0.5)
    reason = "eq. (16), (21) print c_high where c_high - c_low is meant, which collects less"
    return corrected(f"no other menu expects more: {found}", found.holds, reason, as_printed=max(lost) <= 1e-8)


@row(
    "K20",
    "Theorem VIII: information rent",
    published=">= 0 for low cost, 0 for high cost",
    preset="fedabm run screening",
)
def theorem_viii(budget: Budget) -> Finding:
    """Utilities at the corners against utilities alone, and the printed expression for the difference."""

    def error(rng: np.random.Generator) -> float:
        rule, accuracy, reported = _situation(rng)
        offers = rule.offers(accuracy, reported)
        menu = rule.menu(accuracy, reported)
        rent = rule.information_rent(accuracy, reported)
        gains = []
        for cost, corner in ((rule.high, menu.up), (rule.low, menu.down)):
            utility = individual_optimum(accuracy, Linear(np.full(2, cost)), reported.size)[1]
            gains.append(offers.received.value(corner) - cost * corner - utility)
        return float(max(np.max(np.abs(gains[0])), np.max(np.abs(gains[1] - rent)), -np.min(rent)))

    found = trials(budget, error, 1e-8, share=0.5)
    return holds(f"rent as printed and not negative, none for high cost: {found}", found.holds)


def _chances(printed: bool = False, points: int = 41) -> tuple[Array, dict[str, Array]]:
    """The scenario's owner over the probability of low cost; costs 5e-4 and 1e-3, others give 200."""
    chances, reports = np.linspace(0.0, 1.0, points), one_owner(PacBound(), 5e-4, 200.0)
    table = over_chances(PacBound(), reports, 5e-4, 1e-3, chances, printed)
    return chances, {name: table[name].to_numpy() for name in table}


@row(
    "K21",
    "Remark 5: less data than with known costs; threshold in p",
    published="p >= c_low/(c_low + c_high)",
    preset="fedabm run screening",
)
def remark_5(budget: Budget) -> Finding:
    """From which p on a low-cost owner gives all it would under known costs: a value function that is nearly linear."""
    chances, table = _chances()
    less = bool(np.all(table["expected data"] <= table["if costs were known"] + 1e-6))
    accuracy, reported = PowerLaw(1.0, 0.1), Reports(np.full(2, 1e15), np.full(2, 1e16))
    menus = {p: Screening(1e-12, 2e-12, p).menu(accuracy, reported) for p in (1 / 3, 0.49999, 0.5, 0.8)}
    whole = [p for p, menu in menus.items() if np.all(menu.down == menu.low_most)]
    right = less and min(whole, default=1.0) == 0.5 and bool(np.all(np.abs(table["rent"][chances >= 0.5]) < 1e-9))
    ours = f"never more than with known costs; no rent from p = {min(whole, default=np.nan):g} on for c_high = 2 c_low"
    return corrected(ours, right, "the threshold is p >= c_low/c_high", as_printed=1 / 3 in whole)


@row("K22", "Fig. 8: the screening curve", preset="fedabm run screening")
def figure_8(budget: Budget) -> Finding:
    """Corners in order, the curve feasible, rational and non-decreasing; each type prefers its corner."""

    def violation(rng: np.random.Generator) -> float:
        rule, accuracy, reported = _situation(rng)
        offers, menu = rule.offers(accuracy, reported), rule.menu(accuracy, reported)
        x = reported.size[:, None] * np.linspace(0, 1, 301) ** 2
        received = offers.received.value(x)
        curve = max(np.max(received - offers.accuracy.value(x)), np.max(accuracy.curve(x) - received))
        curve = max(curve, -np.min(np.diff(received, axis=1)))
        corners = np.array([menu.high_alone, menu.up, menu.high_most, menu.down, menu.low_most]) / reported.size
        for cost, corner in ((rule.low, menu.down), (rule.high, menu.up)):
            best = best_response(offers, stack([Linear(cost)] * 2), reported.size)
            curve = max(curve, np.max(best.bound - offers.received.value(corner) + cost * corner))
        return float(max(curve, -1e-3 * np.min(np.diff(corners, axis=0))))

    found = trials(budget, violation, 1e-8, share=0.5)
    table = play("screening", points=5)["summary"]
    row_ = table[(table["formula"] == "corrected") & np.isclose(table["p"], 0.36)].iloc[0]
    right = found.holds and agree([row_["up (high cost)"], row_["down (low cost)"]], [396.169, 473.171], 3)
    ours = f"C at {row_['up (high cost)']:.6g}, D at {row_['down (low cost)']:.6g} for p=0.36; shape: {found}"
    return corrected(ours, right, "with eq. (16) as corrected under K19")
