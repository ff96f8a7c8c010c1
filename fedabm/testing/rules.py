"""What the traits of a mechanism say, looked at on the federations of its contract."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, in_one_line
from fedabm.games.accuracy import Accuracy, PowerLaw
from fedabm.games.costs import PowerCost
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.mechanisms import Mechanism
from fedabm.shapley import shapley_potential
from fedabm.testing.contract import Check, ContractBroken, expect
from fedabm.testing.federations import ACCURACIES, everything, reports_of, settle
from fedabm.testing.models import PlainModels, plain_models
from fedabm.views import Outcome, Reports, ServerView, TermsCache

__all__ = ["TRAIT_CHECKS"]


def sizes_change_nothing_where_ignored(mechanism: Mechanism, seed: int) -> None:
    """Where it says that claimed sizes do not matter."""
    for name, accuracy in ACCURACIES.items() if mechanism.traits.ignores_size else ():
        reports = reports_of(seed, mechanism)
        other = replace(reports, size=1.5 * reports.size[::-1] + reports.contribution, cache=TermsCache())
        same = _same(settle(mechanism, accuracy, reports), settle(mechanism, accuracy, other), 1e-9)
        expect(same, f"claimed sizes change the outcome under {name}; set ignores_size = False")


def eagerness_is_needed_only_where_asked_for(mechanism: Mechanism, seed: int) -> None:
    """A mechanism that does not ask for it is not changed by it."""
    if mechanism.traits.asks_eagerness:
        return
    reports = reports_of(seed, mechanism)
    eager = replace(reports, eagerness=everything(seed).eagerness, cache=TermsCache())
    same = _same(settle(mechanism, PowerLaw(), reports), settle(mechanism, PowerLaw(), eager), 0.0)
    expect(same, "reported eagerness changes the outcome; set asks_eagerness = True")


@dataclass(frozen=True, eq=False)
class _WithoutLosses(PlainModels):
    """Models whose losses nobody has measured."""

    def losses(self) -> tuple[Array, Array]:
        raise ContractBroken("it looks at losses on owners' own data; set asks_losses = True")


def losses_are_needed_only_where_asked_for(mechanism: Mechanism, seed: int) -> None:
    """Where everyone has a model of its own."""
    if not (mechanism.promises or mechanism.traits.asks_losses):
        sent = plain_models(reports := reports_of(seed, mechanism))
        settle(
            mechanism,
            PowerLaw(),
            reports,
            _WithoutLosses(**{one.name: getattr(sent, one.name) for one in fields(sent)}),
        )


def many_runs_are_the_same_as_one_by_one(mechanism: Mechanism, seed: int) -> None:
    """To the last bit, where it says that it stacks: tables (runs, owners) of reports in place of rows."""
    if not mechanism.traits.stacks:
        return
    accuracy, rows = PowerLaw(exponent=0.7), [reports_of(seed + run, mechanism) for run in range(3)]
    table = _tabled(rows, asks_cost=mechanism.asks_cost)
    try:
        together = mechanism.settle(ServerView(1, table, accuracy))
        bend = mechanism.jacobian(accuracy, table)
    except Exception as error:
        broken = f"reports of shape {table.contribution.shape} fail: {in_one_line(error)}"
        raise ContractBroken(f"{broken}; work along the last axis, or set stacks = False") from error
    places: Any = np.unravel_index(np.arange(table.contribution.size), table.contribution.shape)
    flat, n = together.offers.take(places), len(rows[0].size)
    for run, reports in enumerate(rows):
        alone, mine = mechanism.settle(ServerView(1, reports, accuracy)), flat.take(np.arange(run * n, (run + 1) * n))
        x = reports.size[:, None] * np.linspace(0.1, 0.9, 4)
        pairs = [
            (together.payments[run], alone.payments),
            (together.access[run], alone.access),
            *((getattr(mine, part).value(x), getattr(alone.offers, part).value(x)) for part in ("received", "payment")),
        ]
        if bend is not None:
            pairs.append((bend[run], mechanism.jacobian(accuracy, reports)))
        same = all(np.array_equal(one, two) for one, two in pairs)
        expect(same, "runs that are settled together differ; work along the last axis, or set stacks = False")


def payments_are_separable_where_promised(mechanism: Mechanism, seed: int) -> None:
    """The full model, and a multiple of the own contribution or (at most once) cost, whatever the others do."""
    for exponent in (1.0, 2.0) if mechanism.traits.separable else ():
        reports = everything(seed)
        cost = PowerCost(reports.cost.columns[0], np.full(len(reports.size), exponent))  # type: ignore[union-attr]
        reports = replace(reports, cost=cost)
        for name, accuracy in ACCURACIES.items():
            with suppress(InputError):  # a rule for linear costs only
                _expect_separable(name, mechanism.offers(accuracy, reports), reports, cost)


def _expect_separable(name: str, offers: Offers, reports: Reports, cost: PowerCost) -> None:
    x = reports.size[:, None] * np.linspace(0.0, 1.0, 9)
    full = np.allclose(offers.received.value(x), offers.accuracy.value(x), rtol=1e-9)
    expect(full, f"not all of the model is handed out under {name} and it says separable; set separable = False")
    paid, grown = (curve.value(x) - curve.value(x[:, :1]) for curve in (offers.payment, cost))
    for own, spent, trials in zip(paid, grown, x, strict=True):
        by_data = np.allclose(own, own[-1] / trials[-1] * trials, rtol=1e-9, atol=1e-12)
        by_cost = np.allclose(own, own[-1] / spent[-1] * spent, rtol=1e-9, atol=1e-12) and own[-1] <= spent[-1]
        broken = f"a payment under {name} is no multiple of the own contribution, nor at most once of the own cost"
        expect(by_data or by_cost, f"{broken}; set separable = False")


def gains_are_those_of_the_potential_where_promised(mechanism: Mechanism, seed: int) -> None:
    """What an owner gains by a move is what the potential of Shapley shares gains (Hart & Mas-Colell 1989)."""
    for name, accuracy in ACCURACIES.items() if mechanism.traits.potential else ():
        reports = reports_of(seed, mechanism)
        before = reports.contribution
        for owner in range(len(before)):
            target = 0.3 * before[owner] + 0.6 * reports.size[owner]
            after = np.where(np.arange(len(before)) == owner, target, before)
            gained = _gain(mechanism, accuracy, reports, owner, target)
            rise = shapley_potential(accuracy, after) - shapley_potential(accuracy, before)
            broken = f"a move gains {gained:.6g} under {name} and the potential {rise:.6g}; set potential = False"
            expect(np.isclose(gained, rise, rtol=1e-7, atol=1e-9), broken)


def benefits_are_affine_in_the_own_cost_where_promised(mechanism: Mechanism, seed: int) -> None:
    """At several draws of all costs, what a contribution changes in benefit lies on a line in the own one."""
    if not (mechanism.traits.affine_in_cost and mechanism.promises):
        return
    rng = np.random.default_rng(seed)
    for exponent in (1.0, 2.0):
        reports = reports_of(seed, mechanism)
        rates = everything(seed).cost.columns[0]  # type: ignore[union-attr]
        power = np.full(len(rates), exponent)
        x = np.column_stack([reports.contribution, reports.size[:, None] * np.linspace(0.0, 1.0, 9)])
        for name, accuracy in ACCURACIES.items():
            drawn = rates * rng.uniform(0.3, 2.0, (4, len(rates)))
            stated = [replace(reports, cost=PowerCost(one, power), cache=TermsCache()) for one in drawn]
            worth = np.array([mechanism.offers(accuracy, one).benefit.value(x) for one in stated])
            straight = _on_a_line(drawn, worth - worth[..., :1], 1e-9 * (1.0 + np.abs(x).max()))
            bends = f"what a contribution changes bends with the own cost, or moves with the others', under {name}"
            expect(straight, f"{bends}; set affine_in_cost = False")


def _on_a_line(rates: Array, values: Array, tolerance: float) -> bool:
    """Whether values (draws, owners, points) are affine in the own rates (draws, owners)."""
    order = np.argsort(rates, axis=0)
    x = np.take_along_axis(rates, order, axis=0)
    y = np.take_along_axis(values, order[..., None], axis=0)
    share = ((x - x[0]) / (x[-1] - x[0]))[..., None]
    return np.allclose(y, y[0] + share * (y[-1] - y[0]), rtol=1e-8, atol=tolerance)


TRAIT_CHECKS: tuple[Check, ...] = (
    sizes_change_nothing_where_ignored,
    eagerness_is_needed_only_where_asked_for,
    losses_are_needed_only_where_asked_for,
    many_runs_are_the_same_as_one_by_one,
    payments_are_separable_where_promised,
    benefits_are_affine_in_the_own_cost_where_promised,
    gains_are_those_of_the_potential_where_promised,
)


def _gain(mechanism: Mechanism, accuracy: Accuracy, reports: Reports, owner: int, target: float) -> float:
    """What an owner's benefit grows by if it moves there."""
    benefit: Array = mechanism.offers(accuracy, reports).benefit.value(
        np.column_stack([reports.contribution, np.full(len(reports.size), target)])
    )
    return float(benefit[owner, 1] - benefit[owner, 0])


def _tabled(rows: list[Reports], *, asks_cost: bool) -> Reports:
    """The reports of several runs as tables (runs, owners)."""
    cost = None
    if asks_cost:
        columns = zip(*(one.cost.columns for one in rows if one.cost is not None), strict=True)
        cost = PowerCost(*map(np.array, columns))
    return Reports(np.array([one.contribution for one in rows]), np.array([one.size for one in rows]), cost)


def _same(one: Outcome, two: Outcome, rounding: float) -> bool:
    pairs = (one.payments, two.payments), (one.access, two.access)
    return all(np.allclose(here, there, rtol=rounding, atol=rounding) for here, there in pairs)
