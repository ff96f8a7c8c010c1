"""How many companies would have to pool their data before training a model like GPT-3 pays?

A trained model is worth 10^9 USD to each company and its loss falls as a power of the tokens it was trained on,

    v(m) = 10^9 (1 - (5.4 10^13 / m)^exponent),

while one more token costs 10^-3 USD (Karimireddy et al. 2022, Appendix C.1 and Figure 5).  The exponent is printed as
0.95, which needs only 224 companies; 0.095, the value that Kaplan et al. 2020 report, needs 1618 and fits the paper's
"at least 1000".  --set exponent=0.95 shows the printed one.

The paper fits its law to losses that its authors read off a picture (Kaplan et al. 2020, Figure 1); the numbers are
printed nowhere, and none are made up here.  With --set losses=FILE.csv (columns `tokens` and `loss`) points are drawn,
and the law is fitted to them as in the paper, by a line through their logarithms; it replaces exponent and tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import InputError, Scenario, population, run_script
from fedabm.accuracy import PowerLaw
from fedabm.checks import MOST_COUNTED, check_count, check_range
from fedabm.costs import Linear
from fedabm.figures import COLOURS, dress, mark, mechanism_looks, panels, powers
from fedabm.games import Array, individual_optimum, smallest_federation, viability_cost
from fedabm.mechanisms import ValueShaping
from fedabm.papers import karimireddy2022
from fedabm.study import Study

#: what GPT-3 was trained on, in tokens (Brown et al. 2020, as cited in the paper)
_TOKENS = 5e11
_PRINTED = 0.95


def run(
    study: Study,
    exponent: float = 0.095,
    worth: float = 1e9,
    cost: float = 1e-3,
    tokens: float = 5.4e13,
    companies: int = 3000,
    points: int = 120,
    losses: str = "",
) -> None:
    """Simulate `companies` that start with all they could pay for, and compute the smallest number that works.

    exponent   how fast the loss falls with the tokens; the paper prints 0.95
    worth      what the best model is worth to a company (USD)
    cost       cost of a token (USD)
    tokens     tokens below which a model is worth nothing
    companies  number of companies in the simulated federation
    points     points of the curves in the picture
    losses     a CSV file with columns tokens and loss, to which the law is fitted (empty: none)

    Takes seconds.
    """
    check_range("exponent", exponent, 1e-3, 10.0)
    for name, value in (("worth", worth), ("cost", cost), ("tokens", tokens)):
        check_range(name, value, 1e-30, 1e30)
    check_count("companies", companies)
    check_count("points", points, 2)
    if not exponent * np.log10(tokens) + np.log10(worth) < 100:
        raise InputError(f"exponent {exponent:g} is too large for {tokens:g} tokens; give one below 1")
    known = _read(losses) if losses else None
    if known is not None:
        tokens, exponent, quality = karimireddy2022.fit_losses(
            known["tokens"].to_numpy(float), known["loss"].to_numpy(float)
        )
        study.note(
            f"Fitted to {len(known)} losses: ({tokens:.3g} / m)^{exponent:.4g}, R^2 of the logarithms {quality:.4f}"
        )
    accuracy = karimireddy2022.value_of_tokens(exponent, worth, tokens)
    oracles = [accuracy, *([] if exponent == _PRINTED else [karimireddy2022.value_of_tokens(_PRINTED, worth, tokens)])]
    for oracle in oracles:
        _check_size(oracle, cost)
    people = population([cost] * companies, worth / cost, starts=worth / cost)
    cent = 1e-9 * worth  # amounts are so large that nobody moves for less
    scenario = Scenario(people, accuracy, ValueShaping(), steps=500, record=None, gap_tolerance=cent)
    study.simulate(scenario, f"{companies} companies")
    study.table(_summary(oracles, cost, companies), f"Companies that share their data (c = {cost:g} USD per token)")
    data, expected = study.frames.owners["contribution"].sum(), karimireddy2022.shaped_total(accuracy, cost, companies)
    study.note(f"The simulated companies end with {data:.6g} tokens; the equilibrium has {expected:.6g}.")
    study.picture(_figure(accuracy, cost, tokens, points, known), "gpt3")


def _read(file: str) -> pd.DataFrame:
    """Losses at sizes of data."""
    try:
        found = pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file!r}: {error}; give a CSV file with the columns tokens and loss") from None
    if not {"tokens", "loss"} <= set(found.columns):
        raise InputError(f"{file!r} has the columns {', '.join(found.columns)}; it needs tokens and loss")
    return found


def _check_size(oracle: PowerLaw, cost: float) -> None:
    """Refuse costs at which more companies would have to begin than can be computed."""
    needed = smallest_federation(oracle, cost)
    if needed > MOST_COUNTED:
        most = f"more than {MOST_COUNTED:,}"
        raise InputError(f"{needed:,} companies would have to begin together, {most}; raise worth or lower cost")


def _summary(oracles: Sequence[PowerLaw], cost: float, companies: int) -> pd.DataFrame:
    rows = []
    for oracle in oracles:
        needed = smallest_federation(oracle, cost)
        begin, grown = (
            karimireddy2022.shaped_total(oracle, cost, needed),
            karimireddy2022.shaped_total(oracle, cost, companies),
        )
        rows.append((oracle.exponent, viability_cost(oracle), needed, begin, companies, grown))
    names = ["exponent", "viability cost (USD)", "smallest n", "tokens at smallest n", "n", "tokens at n"]
    return pd.DataFrame(rows, columns=names)


def _figure(accuracy: PowerLaw, cost: float, tokens: float, points: int, known: pd.DataFrame | None) -> Figure:
    figure, (loss, alone, shaped) = panels(3, width=3.9, height=3.3)
    least = 1e8
    if known is not None:
        least = min(least, float(known["tokens"].min()))
        loss.plot(known["tokens"], known["loss"], "o", color=COLOURS[1], markersize=4, label="losses", zorder=4)
    _loss(loss, accuracy, tokens, points, least)
    _alone(alone, accuracy, cost, points)
    _shaped(shaped, accuracy, cost, points)
    return figure


def _loss(panel: Axes, accuracy: PowerLaw, tokens: float, points: int, least: float) -> None:
    sizes = np.geomspace(least, 1e2 * tokens, points)
    law = (tokens / sizes) ** accuracy.exponent
    powers(panel, sizes, {_law(tokens, accuracy.exponent): law}, colours=COLOURS[2:])
    panel.axhline(1, color="0.5", linestyle=":", linewidth=1)
    panel.axvline(tokens, color="0.5", linestyle=":", linewidth=1)
    mark(panel, tokens, 1.0, "worth something\nfrom here on", (-8, -22), "0.25")
    if law.max() < 10:
        panel.set_yticks([0.7, 1, 1.5, 2, 3], labels=["0.7", "1", "1.5", "2", "3"])
        panel.minorticks_off()
    _star(panel, _TOKENS, (tokens / _TOKENS) ** accuracy.exponent, "tokens of GPT-3")
    dress(panel, "(a) loss", "tokens m", "loss", "upper right")


def _law(tokens: float, exponent: float) -> str:
    power = int(np.floor(np.log10(tokens)))
    return rf"$({tokens / 10.0**power:.3g}\cdot 10^{{{power}}}/m)^{{{exponent:.3g}}}$"


def _alone(panel: Axes, accuracy: PowerLaw, cost: float, points: int) -> None:
    limit = viability_cost(accuracy)
    rates = np.append(np.geomspace(limit / 1e3, limit, points, endpoint=False), limit * (1 - 1e-9))
    powers(panel, rates, {"m* alone": _optima(accuracy, rates)}, colours=COLOURS[0:])
    panel.axvline(limit, color=COLOURS[0], linestyle="--", linewidth=1, label="viability cost")
    _star(panel, cost, _TOKENS, "estimate for GPT-3")
    panel.set_xlim(right=30 * cost)
    dress(panel, "(b) one company alone", "marginal cost c (USD per token)", "tokens", "upper right")


def _shaped(panel: Axes, accuracy: PowerLaw, cost: float, points: int) -> None:
    needed = smallest_federation(accuracy, cost)
    sizes = np.unique(np.geomspace(needed, 30 * needed, points).astype(int))
    found = np.array([karimireddy2022.shaped_total(accuracy, cost, n) for n in sizes])
    look = mechanism_looks({"value shaping": "ValueShaping"})["value shaping"]
    powers(panel, sizes.astype(float), {"value shaping": found}, colours=(look.colour,))
    linear = found[-1] * sizes / sizes[-1]
    panel.plot(sizes, linear, color="0.5", linestyle=":", label="linear in n")
    panel.axvline(needed, color="0.4", linestyle="--", linewidth=1)
    mark(panel, needed, found[0], f"smallest n = {needed:,}", (12, -2))
    panel.margins(y=0.1)
    panel.set_xlim(left=needed / 4)
    dress(panel, "(c) companies together", "number of companies n", "total tokens", "upper left")


def _optima(accuracy: PowerLaw, rates: Array) -> Array:
    return individual_optimum(accuracy, Linear(rates), accuracy.ceiling / rates)[0]


def _star(panel: Axes, x: float, y: float, label: str) -> None:
    panel.plot([x], [y], marker="*", markersize=13, color=COLOURS[0], linestyle="none", label=label, zorder=5)


if __name__ == "__main__":
    run_script(__file__)
