"""Murhekar et al. 2025: the rows that need training and nothing else, R19, R21 and R23."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from fedabm.common.confidence import half_width
from fedabm.papers.ledger.rows import Finding, Play, corrected, refuted
from fedabm.papers.ledger.standard import SETTLED, ClaimPart, Length, joined
from fedabm.papers.ledger.training import Tables, paper, seeds, too_small, trained
from fedabm.papers.ledger.trials import numbers
from fedabm.papers.murhekar2025.printed import PRINTED
from fedabm.papers.murhekar2025.trained_tables import by_mechanism, fitted_weights
from fedabm.papers.presets import more_seeds

__all__ = ["fitted", "fitted_at_length", "reciprocal", "reciprocal_at_length", "stages", "stages_at_length"]

_TRAINED = "reciprocity_table_trained"
#: what decides: the paper's networks, batches and corners
QUADRATIC_RUN = Play.of(_TRAINED, preset="decisive", data="quadratic", rounds=50, seeds=5)
MNIST_RUN = Play.of(_TRAINED, preset="decisive", data="mnist", rounds=1, seeds=5)
STAGES_RUN = Play.of("stage_payments", preset="decisive", data="mnist")
#: planned before they were looked at, see `analysis/recorded/PLAN.md`
#: the second was planned when the first had left orders open, and decides alone
QUADRATIC_PLAN = tuple(
    Play.of(_TRAINED, preset="decisive", data="quadratic", rounds=50, seeds=seeds, seed=seed)
    for seeds, seed in ((5, 5), (30, 10))
)
STAGES_PLAN = tuple(
    Play.of("stage_payments", preset="decisive", data="mnist", rounds=100, all_tests=True, seeds=1, seed=seed)
    for seed in (2, 3)
)
#: as printed in Table 1, for M^0, M^BG and M^Shap
QUADRATIC = PRINTED["quadratic"].table


def _reciprocal(found: Tables) -> tuple[str, bool]:
    """What was measured, and whether M^Shap takes most data, beats M^0 and alone has reciprocity 1."""
    spread = by_mechanism(found)
    share = spread["share %"].to_numpy()
    exact = spread["accuracy %"].to_numpy()
    ratio = spread["reciprocity"].to_numpy()
    fair = found["summary"].set_index("mechanism")["1 within error"].isin([True, "yes", "True"])
    ours = (
        f"quadratic, 2 owners, {seeds(found['summary'])}: share {numbers(share, 1)} %, "
        f"accuracy {numbers(exact, 1)} %, data gain {numbers(spread['data gain'], 2)}, reciprocity {numbers(ratio, 2)}"
    )
    most = share[2] > share[1] > share[0] and exact[2] > exact[0]
    return ours, bool(most and fair["M^Shap"] and np.all(ratio[:2] < 1) and not fair[["M^0", "M^BG"]].any())


def reciprocal(found: Tables, command: str) -> Finding:
    """Table 1 of Murhekar 2025, quadratic, at the quick size."""
    ours, claim = _reciprocal(found)
    said = "order of shares, accuracy above M^0's, only M^Shap has reciprocity 1"
    why = f"{'as' if claim else 'NOT as'} printed: {said}"
    return too_small(ours, f"the printed shares and gains belong to costs that are not given; {why}", command)


def reciprocal_at_length(found: Tables, *fresh: Tables) -> Finding:
    """Table 1, quadratic, by its parts, which were chosen after the first five seeds: only the freshest decide."""
    before = "; ".join(_reciprocal(one)[0] for one in (found, *fresh[:-1]))
    if not fresh:
        parts = [replace(one, proof="no evidence", why=f"{one.why}, {_AFTER}") for one in _parts(found)]
        return joined(before, [replace(one, remedy="", interval=None) for one in parts], _COSTS)
    ours, _ = _reciprocal(fresh[-1])
    return joined(f"{ours} (fresh seeds); earlier: {before}", _parts(fresh[-1]), _COSTS)


_AFTER = "a part that was chosen after the run"
_COSTS = "the printed digits belong to costs that are not given, here up to 0.001 a batch"


def _parts(found: Tables) -> list[ClaimPart]:
    """What is printed in words and order, and sizes of the printed digits."""
    fair = found["summary"].set_index("mechanism")["1 within error"].isin([True, "yes", "True"])
    table = by_mechanism(found)
    gain, ratio = float(table["data gain"].iloc[2]), table["reciprocity"].to_numpy()
    theirs = QUADRATIC["data gain"][2], QUADRATIC["reciprocity"][0]
    alone = bool(fair["M^Shap"] and not fair[["M^0", "M^BG"]].any())
    return [
        _ordered("share M^0 < M^BG < M^Shap", found, "share %", ("M^0", "M^BG", "M^Shap")),
        _holds("reciprocity 1 under M^Shap alone", alone, numbers(ratio, 2)),
        _ordered("accuracy M^BG < M^0 < M^Shap, as printed", found, "accuracy %", ("M^BG", "M^0", "M^Shap")),
        _holds("a data gain of that size", 0.5 < gain / theirs[0] < 2, f"{gain:.2f} for {theirs[0]}"),
        _holds("reciprocity of M^0 of that size", abs(ratio[0] - theirs[1]) < 0.5, f"{ratio[0]:.2f} for {theirs[1]}"),
    ]


def _ordered(name: str, found: Tables, measure: str, rules: tuple[str, ...]) -> ClaimPart:
    """Whether means rise in this order, each step beyond the 95% interval of an unpaired difference."""
    means, deviations = (by_mechanism(found, statistic)[measure] for statistic in ("average", "deviation"))
    seeds = int(found["summary"]["seeds"].max())
    steps = [(means[b] - means[a], _unpaired(deviations[a], deviations[b], seeds)) for a, b in pairwise(rules)]
    why = ", ".join(f"{gap:+.3g} +- {width:.2g}" for gap, width in steps)
    if all(gap > width for gap, width in steps):
        return ClaimPart(name, "reproduced", why)
    if any(gap < -width for gap, width in steps):
        return ClaimPart(name, "not reproducible", why)
    most = max((step for step in steps if not abs(step[0]) > step[1]), key=lambda step: step[1])
    return ClaimPart(name, "undecided", why, more_seeds(*most, seeds))


def _unpaired(one: float, other: float, seeds: int) -> float:
    """Half the 95% interval of the difference of two means over that many seeds each, as if nothing paired them."""
    return float(half_width(np.hypot(one, other), seeds))


def _holds(name: str, holds: bool, why: str) -> ClaimPart:
    return ClaimPart(name, "reproduced" if holds else "not reproducible", why)


def fitted(found: Tables, command: str) -> Finding:
    """Appendix E: how well the group-weighted accuracy fits what was trained."""
    quality = found["summary"]["R^2"].iloc[0]
    ours = f"MNIST turned by 10, 90, 180 degrees, 6 owners, 2 seeds: the fit has R^2 = {quality:.3f}"
    return too_small(ours, "the printed weights belong to the paper's networks and sizes", command)


def fitted_at_length(found: Tables) -> Finding:
    """The fit as in the paper, after one epoch: weights within a factor of three, the own group's the largest."""
    drawn = fitted_weights(found, "zero")
    ours, theirs = drawn.mean(axis=0), np.array(PRINTED["mnist"].weights)
    ratio = ours / theirs
    own = bool(np.all(np.argmax(ours, axis=1) == np.argmax(theirs, axis=1)))
    near = bool(np.all((ratio > 1 / 3) & (ratio < 3)))
    shown = "; ".join(numbers(1e3 * line, 2) for line in ours)
    spread = float(np.mean(drawn.std(axis=0, ddof=1) / np.maximum(ours, 1e-12)))
    quality = found["weights"].query("chance == 'zero'")["R^2"].mean()
    text = (
        f"MNIST, CNN, corners of 0 or 200 batches, one epoch, {len(drawn)} seeds: 1000 W = {shown} (+- {spread:.0%}), "
        f"R^2 {quality:.2f}; ratio to the printed {ratio.min():.2g} to {ratio.max():.2g}"
    )
    alike = np.eye(len(ours), dtype=bool)
    reason = (
        f"weights grow with the length of training: with all 600 batches those of Appendix E mean an accuracy of "
        f"{_full_corner(theirs):.2f}, where 100 epochs are stated; ours mean {_full_corner(ours):.2f} after one.  Own "
        f"data are worth most to every group, as printed; weights between groups are {ratio[~alike].min():.2g} to "
        f"{ratio[~alike].max():.2g} times the printed ones, own weights {ratio[alike].min():.2g} to "
        f"{ratio[alike].max():.2g} times"
    )
    if own and near:
        return corrected(text, as_corrected=True, reason=reason)
    return refuted(text, instead=own, reason=reason)


def _full_corner(weights: np.ndarray, batches: float = 200.0) -> float:
    """The mean accuracy when every group gives 200 batches."""
    return float(np.mean(1 - 1 / (1 + batches * weights.sum(axis=1))))


def stages(found: Tables, command: str) -> Finding:
    """Appendix F: payments of every stage sum to zero; whether an equilibrium is near is not certified."""
    return too_small(
        _staged(found),
        "payments balance in each stage; nothing certifies that contributions are near equilibrium",
        command,
    )


def _staged(found: Tables) -> str:
    table = found["summary"]
    first, last = table.iloc[0], table.iloc[-1]
    return (
        f"MNIST, 6 owners, {len(table)} stages: sums of payments up to {table['|sum of payments|'].max():.0e}; an "
        f"owner gives {first['batches of an owner']:.1f} batches in the first stage, "
        f"{last['batches of an owner']:.1f} in the last; what a batch seems worth "
        f"{first['|marginal utility|']:.2g}, then {last['|marginal utility|']:.2g}; "
        f"accuracy {first['accuracy']:.2f}, then {last['accuracy']:.2f}"
    )


def stages_at_length(found: Tables, *fresh: Tables) -> Finding:
    """Payments balance; an equilibrium is near if a batch seems worth no more than the largest cost of one.

    By fresh seeds at the paper's length if there are any: not near in all of them, with contributions that have settled
    from the last but one stage to the last, refutes.
    """
    studies = fresh or (found,)
    said = "; earlier, shorter: ".join(
        filter(None, ("; ".join(map(_staged, studies)), _staged(found) if fresh else ""))
    )
    tables = [one["summary"] for one in studies]
    if not all(table["|sum of payments|"].max() <= 1e-9 for table in (*tables, found["summary"])):
        return Finding(said, "FAILED", "payments of a stage do not sum to zero")
    balance = ClaimPart("payments of each stage sum to zero", "reproduced", "up to 1e-9")
    return joined(said, (balance, _equilibrium(tables, at_length=bool(fresh))), _NOISE)


_NOISE = "a single round's progress on the test samples at hand is noisier than what a batch is worth"


def _equilibrium(tables: Sequence[pd.DataFrame], *, at_length: bool) -> ClaimPart:
    """Whether an equilibrium is near in every seed, in none although contributions have settled, or neither."""
    name = "an equilibrium is near"
    worth = [float(table["|marginal utility|"].iloc[-1]) for table in tables]
    moved = [_last_move(table["batches of an owner"]) for table in tables]
    why = (
        f"what a batch seems worth at last: {', '.join(f'{one:.2g}' for one in worth)}, for costs up to {_COST:g}; "
        f"contributions moved by {', '.join(f'{one:.0%}' for one in moved)} in the last stage"
    )
    if all(one <= _COST for one in worth):
        return ClaimPart(name, "reproduced", why)
    if at_length and all(one > _COST for one in worth) and max(moved) <= SETTLED:
        return ClaimPart(name, "not reproducible", why)
    return ClaimPart(name, "undecided", why, "the paper's 100 rounds, until contributions have settled")


def _last_move(batches: pd.Series) -> float:
    return float(abs(batches.iloc[-1] - batches.iloc[-2]) / batches.iloc[-1])


#: the highest cost of a batch, Appendix E
_COST = 0.001


def _register() -> None:
    command = paper(_TRAINED, data="quadratic")
    published = "share (3.3, 4, 99.6) %, data gain (1, 1.25, 31.18)"
    play = Play.of(_TRAINED, data="quadratic")
    trained(
        "R19",
        "Table 1: quadratic",
        published,
        (play,),
        lambda found: reciprocal(found, command),
        command,
        decisive=(QUADRATIC_RUN,),
        planned=QUADRATIC_PLAN,
        decide=reciprocal_at_length,
        length=Length(100, (2, 2), run=50, fresh=True),
    )
    mnist = paper(_TRAINED, data="mnist")
    claim, play = "Appendix E: fitted weights from training on rotated groups", Play.of(_TRAINED, data="mnist")
    trained(
        "R21",
        claim,
        "matrices of Appendix E",
        (play,),
        lambda found: fitted(found, mnist),
        mnist,
        decisive=(MNIST_RUN,),
        decide=fitted_at_length,
        length=Length(100, (6, 30), run=1, unit="epochs"),
    )
    claim = "Section 5.2, Appendix F: FedBR-Shap finds approximate equilibria while training and pays per stage"
    staged, play = paper("stage_payments", data="mnist"), Play.of("stage_payments", data="mnist", seeds=1)
    trained(
        "R23",
        claim,
        "budget feasible payments per stage",
        (play,),
        lambda found: stages(found, staged),
        staged,
        decisive=(STAGES_RUN,),
        planned=STAGES_PLAN,
        decide=stages_at_length,
        length=Length(100, (6, 30), fresh=True),
    )


_register()
