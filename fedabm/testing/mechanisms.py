"""The contract of every mechanism: legal, balanced where promised, fair where promised, pure, private, consistent.

The heart of it: an offer says what settling would bring.  Owner i's curves at x are the outcome if i had reported x and
nobody else had moved; so best responses, solver and certificates speak of the mechanism that is really applied.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.bounds import bounds_of, written
from fedabm.common.errors import FedabmError, check_kind
from fedabm.games.accuracy import Accuracy, PowerLaw
from fedabm.games.curves import Curve
from fedabm.games.offers import Offers
from fedabm.mechanisms import Mechanism
from fedabm.simulation import checkpoint
from fedabm.simulation.model import Federation
from fedabm.testing.contract import Check, ContractBroken, checked, expect, expect_equal_frames, expect_value
from fedabm.testing.federations import ACCURACIES, OWNERS, everything, reports_of, restless, settle
from fedabm.testing.models import plain_models
from fedabm.testing.privacy import leaks
from fedabm.testing.rules import TRAIT_CHECKS
from fedabm.views import SERVER, Reports, ServerView

__all__ = ["MECHANISM_CHECKS", "check_mechanism"]


def check_mechanism(mechanism: Mechanism, seeds: int = 3) -> None:
    """Raise `ContractBroken`, with one line for each promise that does not hold on some federation, or do nothing.

    Parameters
    ----------
    mechanism : Mechanism
        The rule to check.
    seeds : int, optional
        How many random federations are tried.
    """
    check_kind("mechanism", mechanism, Mechanism)
    checked(mechanism, MECHANISM_CHECKS, seeds)


def is_a_frozen_value(mechanism: Mechanism, seed: int) -> None:
    """Compared, hashed, pickled, varied; nothing can be changed."""
    expect_value(mechanism)


def outcomes_are_legal(mechanism: Mechanism, seed: int) -> None:
    """Access in [0, 1], finite payments, and curves that belong to the accuracies in question."""
    for name, accuracy, reports in _federations(mechanism, seed):
        outcome, claimed = settle(mechanism, accuracy, reports), reports.contribution
        n, offers = len(claimed), outcome.offers
        shapes = outcome.access.shape, outcome.payments.shape
        expect(shapes == ((n,), (n,)), f"access and payments of {n} owners have shapes {shapes}; give one entry each")
        legal = (outcome.access >= 0) & (outcome.access <= 1)
        expect(legal, f"access {_first(outcome.access, ~legal)} under {name}; keep it between 0 and 1")
        finite = np.isfinite(outcome.payments)
        expect(finite, f"a payment of {_first(outcome.payments, ~finite)} under {name}; keep payments finite")
        expect(len(offers.kinks) == n, f"kinks of shape {offers.kinks.shape} for {n} owners; give one row each")
        full, received = offers.accuracy.value(claimed), offers.received.value(claimed)
        broken = "offers.accuracy is not what the oracle says at the reports; use accuracy.curves(reports.contribution)"
        expect(np.allclose(full, accuracy.values(claimed[None])[0], rtol=1e-9, atol=1e-12), f"under {name} {broken}")
        broken = "offers.received at the reports is not access times accuracy; settle by the offers"
        expect(np.allclose(received, outcome.access * full, rtol=1e-9, atol=1e-12), f"under {name} {broken}")


def nobody_gets_more_than_the_full_model(mechanism: Mechanism, seed: int) -> None:
    """0 <= received <= accuracy along the whole range."""
    for name, accuracy, reports in _federations(mechanism, seed):
        offers = mechanism.offers(accuracy, reports)
        x = reports.size[:, None] * np.linspace(0, 1, 40)
        received, full = offers.received.value(x), offers.accuracy.value(x)
        within = (received <= full + 1e-9) & (received >= -1e-9)
        where = f"at contribution {_first(x, ~within)} under {name}"
        broken = f"{_first(received, ~within)} is received of {_first(full, ~within)}"
        expect(within, f"{broken} {where}; hand out no more than the full model")


def payments_balance_where_promised(mechanism: Mechanism, seed: int) -> None:
    """And they are what the transfers say."""
    for name, accuracy, reports in _federations(mechanism, seed):
        outcome, n = settle(mechanism, accuracy, reports), len(reports.size)
        total, size = outcome.payments.sum(), np.abs(outcome.payments).sum()
        balanced = not mechanism.budget_balanced or abs(total) <= 1e-9 * max(size, 1e-3)
        expect(balanced, f"payments sum to {total:.3g} under {name}; mend them or set budget_balanced = False")
        moved, book = outcome.transfers, np.zeros(n + 1)
        expect(moved.amount > 0, "a transfer of nothing or less; leave it out, or turn payer and payee round")
        central = (moved.payer == SERVER) | (moved.payee == SERVER)
        broken = "use Transfers.central where all share a model, Transfers.between where owners sell theirs"
        expect(central == mechanism.promises, f"transfers are not booked as they should be; {broken}")
        np.add.at(book, moved.payee, moved.amount)
        np.subtract.at(book, moved.payer, moved.amount)
        same = np.allclose(book[:-1], outcome.payments, rtol=0, atol=1e-15)
        expect(same, f"transfers do not add up to the payments under {name}; make them by Transfers.central(payments)")


def equal_owners_are_treated_equally(mechanism: Mechanism, seed: int) -> None:
    """Where it is promised."""
    for name, accuracy in ACCURACIES.items() if mechanism.equal_treatment else ():
        reports = reports_of(seed, mechanism)
        asked = [] if reports.cost is None else [reports.cost.columns[0]]
        asked += [] if reports.eagerness is None else [reports.eagerness]
        for column in (reports.contribution, reports.size, *asked):
            column[1] = column[0]
        sent = plain_models(reports)
        for rows in (sent.models, sent.start, sent.best):
            rows[1] = rows[0]
        outcome = settle(mechanism, accuracy, reports, sent)
        for what, got in (("access", outcome.access), ("payments", outcome.payments)):
            fair = np.isclose(got[0], got[1], rtol=1e-9, atol=1e-12)
            broken = f"two equal owners have {what} {got[0]:.6g} and {got[1]:.6g} under {name}"
            expect(fair, f"{broken}; mend that or set equal_treatment = False")


def the_same_view_gives_the_same_outcome(mechanism: Mechanism, seed: int) -> None:
    """And stays as it was."""
    for name, accuracy, reports in _federations(mechanism, seed):
        before = copy.deepcopy(reports)
        one, two = (settle(mechanism, accuracy, reports) for _ in range(2))
        same = np.array_equal(one.payments, two.payments) and np.array_equal(one.access, two.access)
        expect(same, f"the same view gave two outcomes under {name}; draw from a seed that is a field, keep no state")
        kept = np.array_equal(before.contribution, reports.contribution) and before.same_types(reports)
        expect(kept, f"the reports were changed under {name}; copy an array before writing to it")


def costs_are_needed_only_where_asked_for(mechanism: Mechanism, seed: int) -> None:
    """A mechanism that asks for costs says so when it gets none; one that does not is not changed by them."""
    accuracy, reports = PowerLaw(exponent=0.7), everything(seed)
    silent = replace(reports, cost=None)
    if not mechanism.asks_cost:
        one, two = settle(mechanism, accuracy, reports), settle(mechanism, accuracy, silent)
        same = np.array_equal(one.payments, two.payments) and np.array_equal(one.access, two.access)
        expect(same, "reported costs change the outcome; set asks_cost = True")
        return
    try:
        settle(mechanism, accuracy, silent)
    except FedabmError as error:
        expect("needs the owners' reported costs" in str(error), _NO_COSTS)
        return
    except Exception as error:
        raise ContractBroken(_NO_COSTS) from error
    raise ContractBroken("it does without reported costs; set asks_cost = False")


_NO_COSTS = (
    "without reported costs it does not say what is missing; raise InputError("
    '"... needs the owners\' reported costs, got none; report them") where reports.cost is None'
)


def an_offer_says_what_settling_would_bring(mechanism: Mechanism, seed: int) -> None:
    """Owner i's curves at x are the outcome if i had reported x and nobody else had moved."""
    for name, accuracy, reports in _federations(mechanism, seed) if mechanism.promises else ():
        offers, n = mechanism.offers(accuracy, reports), len(reports.size)
        x = reports.size * np.random.default_rng(seed).uniform(0, 1, n)
        received, payment = offers.received.value(x), offers.payment.value(x)
        for owner in range(n):
            claimed = np.where(np.arange(n) == owner, x, reports.contribution)
            outcome = settle(mechanism, accuracy, replace(reports, contribution=claimed))
            handed = (outcome.access * accuracy.values(claimed[None])[0])[owner]
            for what, offered, real in (
                ("payment", payment[owner], outcome.payments[owner]),
                ("received", received[owner], handed),
            ):
                where = f"for contribution {x[owner]:.6g} of owner {owner} under {name}"
                said = f"the offered {what} is {offered:.6g} {where} but settling it brings {real:.6g}"
                remedy = "the curves must hold the others' reports fixed and nothing of the own one"
                expect(np.isclose(offered, real, rtol=1e-7, atol=1e-9), f"{said}; {remedy}")


def an_owner_needs_only_its_own_row(mechanism: Mechanism, seed: int) -> None:
    """Curves taken for some owners say the same to the last bit: an owner decides alike alone and in a cohort."""
    for name, accuracy, reports in _federations(mechanism, seed):
        offers, n = mechanism.offers(accuracy, reports), len(reports.size)
        trials = reports.size[:, None] * np.random.default_rng(seed).uniform(0.0, 1.0, (n, 33))
        for rows in ([n - 2], [n - 1, 0], list(range(n))):
            mine = offers.take(rows)
            broken = f"offers.take({rows}) has other kinks or another shape under {name}; take rows of all of it"
            expect(np.array_equal(mine.kinks, offers.kinks[rows]) and mine.shape == offers.shape, broken)
            for part in ("accuracy", "received", "payment"):
                whole, own = getattr(offers, part), getattr(mine, part)
                for x in (trials, trials[:, :1], trials[:, 0]):
                    same = np.array_equal(own.value(x[rows]), whole.value(x)[rows])
                    same &= np.array_equal(own.slope(x[rows]), whole.slope(x)[rows])
                    remedy = "row i may depend on row i of x only, to the last bit (fedabm.common.rowwise)"
                    expect(same, f"{part}.take({rows}) is not these rows of {part} under {name}; {remedy}")


def many_trials_are_the_same_as_one_by_one(mechanism: Mechanism, seed: int) -> None:
    """x may be (n,) or (n, k)."""
    for name, accuracy, reports in _federations(mechanism, seed):
        x = reports.size[:, None] * np.linspace(0.05, 0.95, 7)
        for part, curve in _curves(mechanism.offers(accuracy, reports)):
            for question in (curve.value, curve.slope):
                together = question(x)
                broken = f"{part}.{question.__name__} under {name}"
                expect(together.shape == x.shape, f"{broken} gives {together.shape} for {x.shape}; keep the shape of x")
                apart = np.column_stack([question(trial) for trial in x.T])
                same = np.allclose(together, apart, rtol=1e-9, atol=1e-11)
                expect(same, f"{broken} differs for many trials at once; give numbers per owner an axis for trials")


def slopes_are_derivatives(mechanism: Mechanism, seed: int) -> None:
    """Away from kinks."""
    for name, accuracy, reports in _federations(mechanism, seed):
        offers, step = mechanism.offers(accuracy, reports), 1e-5
        n = len(reports.size)
        x = reports.size[:, None] * np.random.default_rng(seed).uniform(0.01, 0.99, (n, 8))
        near = np.any(np.abs(x[:, :, None] - offers.kinks[:, None, :]) < 10 * step, axis=2)
        for part, curve in _curves(offers):
            rise, slope = (curve.value(x + step) - curve.value(x - step)) / (2 * step), curve.slope(x)
            right = np.isclose(slope, rise, rtol=2e-4, atol=2e-6) | near
            where = f"at contribution {_first(x, ~right)} under {name}"
            broken = f"the slope of {part} is {_first(slope, ~right)} {where} but it rises by {_first(rise, ~right)}"
            expect(right, f"{broken}; mend the slope, or name the kink there in kinks")


def the_promised_shape_holds_between_kinks(mechanism: Mechanism, seed: int) -> None:
    """The certified gap relies on it."""
    for name, accuracy, reports in _federations(mechanism, seed):
        offers = mechanism.offers(accuracy, reports)
        known = ("concave", "monotone", "unknown")
        expect(offers.shape in known, f"the shape {offers.shape!r} is none; promise one of {', '.join(known)}")
        top = reports.size[:, None]
        edges = np.sort(np.clip(np.column_stack([0 * top, offers.kinks, top]), 0.0, top), axis=1)
        for low, high in zip(edges.T[:-1], edges.T[1:], strict=True):
            inside = low[:, None] + (high - low)[:, None] * np.linspace(1e-9, 1 - 1e-9, 41)
            value = offers.benefit.value(inside)
            bends = {"monotone": -np.diff(value, axis=1), "concave": np.diff(value, 2, axis=1)}
            wrong = bends.get(offers.shape, 0 * value) > 1e-9
            where = f"under {name} between {_first(low, wrong.any(axis=1))} and {_first(high, wrong.any(axis=1))}"
            remedy = 'name its kinks, or promise less: shape "monotone" or "unknown"'
            expect(~wrong, f"received + payment is promised to be {offers.shape} and is not, {where}; {remedy}")


def an_owner_that_is_alone_neither_pays_nor_is_paid(mechanism: Mechanism, seed: int) -> None:
    """Where the budget is balanced there is nobody to pay it."""
    outcome = settle(mechanism, PowerLaw(exponent=0.7), reports_of(seed, mechanism, n=1))
    alone = not mechanism.budget_balanced or np.allclose(outcome.payments, 0.0, atol=1e-12)
    expect(alone, f"an owner that is alone is paid {outcome.payments[0]:.3g}; pay nothing where there is one owner")


def nobody_contributing_is_no_problem(mechanism: Mechanism, seed: int) -> None:
    """Everything stays finite."""
    for name, accuracy, reports in _federations(mechanism, seed):
        outcome = settle(mechanism, accuracy, replace(reports, contribution=np.zeros(len(reports.size))))
        finite = np.isfinite(outcome.payments) & np.isfinite(outcome.access)
        expect(finite, f"not a number where nobody contributes under {name}; say what happens when the total is 0")


def an_offer_tells_no_foreign_secret(mechanism: Mechanism, seed: int) -> None:
    """Nothing that can be reached from an owner's offer is another owner's reported cost or size.

    A critical price is another owner's bid; a rule with such prices says so (`reveals_bids`).
    """
    reports = reports_of(seed, mechanism)
    accuracy = PowerLaw(exponent=0.7)
    sizes, costs = reports.size, everything(seed).cost.columns[0]  # type: ignore[union-attr]
    secrets = np.column_stack([sizes] if mechanism.traits.reveals_bids else [sizes, costs])
    for owner in range(OWNERS):
        mine = mechanism.offers(accuracy, reports).take([owner])
        found = leaks(mine, np.delete(secrets, owner, axis=0).ravel().tolist())
        broken = "others' reported sizes or costs can be read from an owner's offer"
        remedy = "let curves hold sums and what the own row needs, and take rows of all of it"
        expect(not found, f"{broken}; {remedy}; a rule with critical prices declares reveals_bids")


def both_ends_of_the_bounds_are_legal(mechanism: Mechanism, seed: int) -> None:
    """Whoever tunes a parameter may try the least and the largest value, and what lies between."""
    for name, bounds in bounds_of(mechanism).items():
        for part in (0.0, 0.5, 1.0):
            value = bounds.at(part)
            try:
                rule = written(mechanism, {name: value})
                if rule.promises:
                    outcome = settle(rule, PowerLaw(exponent=0.7), reports_of(seed, rule))
                    expect(np.isfinite(outcome.payments), f"{name} = {value:g} gives payments that are not finite")
            except FedabmError as error:
                broken = f"{name} = {value:g} lies within its bounds and is refused: {error}"
                raise ContractBroken(f"{broken}; state bounds whose ends are legal") from error


def runs_repeat_and_can_be_interrupted(mechanism: Mechanism, seed: int) -> None:
    """Equal seeds give equal frames, also after an interruption."""
    scenario = restless(mechanism)
    whole = Federation(scenario, seed).run().frames()
    again = "two runs with one seed differ; draw from a seed that is a field, keep no state"
    expect_equal_frames(Federation(scenario, seed).run().frames(), whole, again)
    part = Federation(scenario, seed)
    for _ in range(3):
        part.step()
    with tempfile.TemporaryDirectory() as folder:
        restored = checkpoint.restore(checkpoint.save(part, Path(folder) / "run"), restless(mechanism))
        later = "a run that was interrupted ends otherwise; keep what it must remember in the outcome's memory"
        expect_equal_frames(restored.run().frames(), whole, later)


def whoever_sent_nothing_usable_is_left_out(mechanism: Mechanism, seed: int) -> None:
    """Where everyone has a model of its own: a broken one is imported by nobody, and pays and earns nothing."""
    if mechanism.promises:
        return
    reports = reports_of(seed, mechanism)
    reports = replace(reports, contribution=reports.size)
    sent = plain_models(reports, seed)
    sent.usable[[1, 3]], sent.models[[1, 3]] = False, np.nan
    outcome, others = settle(mechanism, PowerLaw(), reports, sent), ~np.eye(OWNERS, dtype=bool)
    table, exchange = outcome.adjacency, outcome.exchange
    if table is None or exchange is None:
        raise ContractBroken("the outcome has no adjacency or exchange; derive from Personalised and state exchange")
    legal = np.isfinite(table) & (table >= 0)
    expect(legal, "a weight of imports is negative or not a number; give weights of at least 0")
    expect(
        not table[:, [1, 3]][others[:, [1, 3]]].any(), "a broken model is imported; leave out rows that are not usable"
    )
    paid = {*outcome.transfers.payer.tolist(), *outcome.transfers.payee.tolist()}
    expect({1, 3}.isdisjoint(paid), "who sent a broken model pays or is paid; leave out rows that are not usable")
    for task in (exchange.task, exchange.personal):
        for rows in () if task is None else (task.start, task.pull):
            usable = rows is None or (rows.shape == sent.models.shape and np.isfinite(rows).all())
            expect(usable, "what is sent back holds a broken model; mix by sent.mix, which leaves them out")


def says_so_where_all_share_one_model(mechanism: Mechanism, seed: int) -> None:
    """A rule that exchanges models cannot work where there are none."""
    if mechanism.promises:
        return
    try:
        mechanism.settle(ServerView(1, reports_of(seed, mechanism), PowerLaw()))
    except FedabmError:
        return
    raise ContractBroken("it settles where all share one model; raise InputError where view.sent is None")


MECHANISM_CHECKS: tuple[Check, ...] = (
    is_a_frozen_value,
    outcomes_are_legal,
    nobody_gets_more_than_the_full_model,
    payments_balance_where_promised,
    equal_owners_are_treated_equally,
    the_same_view_gives_the_same_outcome,
    costs_are_needed_only_where_asked_for,
    an_offer_says_what_settling_would_bring,
    an_owner_needs_only_its_own_row,
    many_trials_are_the_same_as_one_by_one,
    slopes_are_derivatives,
    the_promised_shape_holds_between_kinks,
    an_owner_that_is_alone_neither_pays_nor_is_paid,
    nobody_contributing_is_no_problem,
    an_offer_tells_no_foreign_secret,
    both_ends_of_the_bounds_are_legal,
    runs_repeat_and_can_be_interrupted,
    whoever_sent_nothing_usable_is_left_out,
    says_so_where_all_share_one_model,
    *TRAIT_CHECKS,
)


def _federations(mechanism: Mechanism, seed: int) -> Iterator[tuple[str, Accuracy, Reports]]:
    """The accuracies with five owners, and a power law with two to seven."""
    for name, accuracy in ACCURACIES.items():
        yield name, accuracy, reports_of(seed, mechanism)
    n = 2 + seed % 6
    yield f"power_law of {n} owners", PowerLaw(scale=1.2, exponent=0.6), reports_of(seed + 1, mechanism, n)


def _curves(offers: Offers) -> tuple[tuple[str, Curve], ...]:
    return ("accuracy", offers.accuracy), ("received", offers.received), ("payment", offers.payment)


def _first(values: Any, where: Any) -> str:
    """The first value that is wrong, for a message."""
    found = np.asarray(values)[np.asarray(where)]
    return f"{found[0]:.6g}" if len(found) else ""
