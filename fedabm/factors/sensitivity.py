"""Which inputs drive an answer: points of a method, run as a sweep, and indices of their outcomes.

found = sensitivity("free_riding", "rate=0.001:0.1:log, owners=5:50", of="welfare,gap", n=256)
found.table()
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import FedabmError, InputError, check_whole, shown
from fedabm.common.random import check_seed
from fedabm.comparison.varied import StudyInputs
from fedabm.factors.curves import curves_of
from fedabm.factors.design import PointDesign
from fedabm.factors.indices import SensitivityIndices
from fedabm.factors.inputs import RULE, SEED, Factor, Inputs, factors_of, fixed_of, inputs_of
from fedabm.factors.methods import Index, Method, method_of
from fedabm.factors.outcomes import By, Explained, When, read_outcomes
from fedabm.sweep.executors import Workers
from fedabm.sweep.jobs import scenario_of
from fedabm.sweep.plan import Sweep

__all__ = ["sensitivity"]

#: answers that differ by less than this share of their size are the same but for rounding
_SAME = 1e-12


def sensitivity(
    target: Any,
    over: str | Mapping[str, Any],
    of: str | Sequence[str] = "welfare",
    *,
    method: str = "sobol",
    n: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    one_seed: bool = False,
    pairs: bool = True,
    by: By | None = None,
    when: When = "auto",
    fixed: Sequence[str] | Mapping[str, Any] = (),
    steps: int | None = None,
    out: str | Path | None = None,
    executor: str | Workers = "local",
    workers: int | None = None,
    address: str | None = None,
    quiet: bool = False,
    repeat: str = "",
) -> SensitivityIndices:
    """Vary inputs all at once, and say how much each of them matters for each outcome.

    The runs are a sweep: they go on where they stopped, are stepped together where that is possible, and a larger `n`
    of Sobol uses those of a smaller one.  All randomness is an input of its own, called seed, so that noise is told
    from effect: its total index is the share of the variance that would be left if all else were known.

    Parameters
    ----------
    target : Any
        A study in TOML, a scenario by name or file, a function that makes a `Scenario`, or a Mesa model.
    over : str | Mapping[str, Any]
        Ranges by name, as "rate=0.001:0.1:log, owners=5:50, mechanism=a|b" or as a table of `Span` and lists.
    of : str | Sequence[str], optional
        What is explained: columns of steps or runs, such as welfare, gap, data, accuracy, payment, net, worst.
    method : str, optional
        "sobol" (shares of variance), "morris" (few runs) or "pawn" (whole distributions).
    n : int | None, optional
        Base points of Sobol (a power of two), trajectories of Morris, points of PAWN; None: 512, 100 or 1024.
    runs : int | None, optional
        Instead of `n`: the most runs.
    seed : int, optional
        Seed of all random draws; the same seed gives the same points and runs.
    one_seed : bool, optional
        Whether all runs have this one seed; then randomness is no input.
    pairs : bool, optional
        Whether Sobol also finds what two inputs explain only together, at nearly twice as many runs.
    by : By | None, optional
        "owner" or "strategy": outcomes of owners one by one, or by what they do.
    when : When, optional
        "auto" (equilibria, and means over time of runs that did not come to rest), "end" or "mean".
    fixed : Sequence[str] | Mapping[str, Any], optional
        What else is set, for all runs.
    steps : int | None, optional
        The most steps of a run.
    out : str | Path | None, optional
        Where the runs are kept; by default a folder in results/.
    executor : str | Workers, optional
        "local", "ray" or "serial", or one of `fedabm.sweep`.
    workers : int | None, optional
        How many processes.
    address : str | None, optional
        Of a Ray cluster.
    quiet : bool, optional
        Whether to say nothing while it runs.
    repeat : str, optional
        The command that goes on after Ctrl-C.

    Returns
    -------
    SensitivityIndices
        Tables, figures and notes.
    """
    plan = _planned(target, over, method, n, runs, seed, fixed, one_seed=one_seed, pairs=pairs)
    wanted = _wanted(of)
    _check_words(by, when)
    device = plan.inputs.text.study.device if isinstance(plan.inputs, StudyInputs) else "auto"
    sweep = Sweep(plan.inputs.target, plan.design, 1, plan.fixed, steps, device)
    _check_first(sweep, plan)
    folder = Path(out) if out is not None else Path("results") / f"{_name(target)}-sensitivity"
    sweep.run(folder, executor, workers, quiet=quiet, repeat=repeat, address=address)
    grouped = plan.inputs.target.kind == "script"
    outcomes = read_outcomes(folder, len(plan.design.settings), wanted, by, when, grouped=grouped)
    cell_of = plan.design.cell_of
    values = {outcome: column[cell_of] for outcome, column in outcomes.values.items()}
    return _found(plan, values, [*plan.notes, *outcomes.notes], len(sweep.jobs), folder)


@dataclass(frozen=True)
class _Plan:
    """What is varied, by which method, and its points: (blocks, size, dimensions)."""

    inputs: Inputs
    factors: list[Factor]
    fixed: dict[str, Any]
    method: Method
    name: str
    count: int
    points: Array
    design: PointDesign
    seed: int
    seeded: bool
    notes: list[str]

    @property
    def names(self) -> list[str]:
        """Of all inputs, the seed last where it is one; then one for an input without effect."""
        return [*(one.name for one in self.factors), *([SEED] if self.seeded else []), "(none)"]


def _planned(
    target: Any,
    over: Any,
    name: str,
    n: int | None,
    runs: int | None,
    seed: int,
    fixed: Any,
    *,
    one_seed: bool,
    pairs: bool,
) -> _Plan:
    check_seed(seed)
    inputs, always = inputs_of(target)
    given = fixed_of(fixed, inputs)
    if isinstance(inputs, StudyInputs) and RULE in given:
        inputs = inputs.chosen([given[RULE]])
    factors = factors_of(over, inputs)
    both = [one.name for one in factors if one.name in given]
    if both:
        raise InputError(f"{both[0]} is varied and set, got both; leave one out")
    method = method_of(name, pairs=pairs)
    dimensions = len(factors) + (not one_seed)
    count = _count(method, dimensions, n, runs)
    points = method.points(dimensions, count, seed)
    seeds = np.full(points.shape[:2], seed) if one_seed else method.seeds(points[:, :, -1], seed)
    chosen = {"method": name, "n": count, "seed": seed}
    flat = points.reshape(-1, dimensions)[:, : len(factors)]
    design = PointDesign(factors, flat, seeds.ravel().tolist(), chosen)
    notes = _rounded(method, n, count) + _without_effect(inputs, factors, given)
    return _Plan(inputs, factors, always | given, method, name, count, points, design, seed, not one_seed, notes)


def _count(method: Method, dimensions: int, n: int | None, runs: int | None) -> int:
    """How many blocks: as many as wanted, or as the runs allow."""
    if runs is None:
        return method.count(n)
    if n is not None:
        raise InputError(f"n and runs say the same thing, got {n} and {runs}; give one of them")
    check_whole("runs", runs)
    size, least = method.size(dimensions), method.count(method.least)
    if runs < least * size:
        raise InputError(
            f"{runs} runs are too few, got {dimensions} inputs of {size} runs each time; give at least {least * size}"
        )
    count = method.count(runs // size)
    return count if count * size <= runs else count // 2


def _rounded(method: Method, wanted: int | None, count: int) -> list[str]:
    return [f"n = {wanted} was rounded up to {count}, a power of two."] if wanted not in (None, count) else []


def _without_effect(inputs: Inputs, factors: Sequence[Factor], given: Mapping[str, Any]) -> list[str]:
    """Which numbers have no effect under which mechanisms of a study."""
    if not isinstance(inputs, StudyInputs):
        return []
    rules: Sequence[Any] = [given[RULE]] if RULE in given else []
    for one in factors:
        if one.name == RULE and isinstance(one.range, tuple):
            rules = one.range
    lines = [(one.name, inputs.without(one.name, rules)) for one in factors if one.name != RULE]
    return [f"{name} has no effect under {', '.join(rules)}: no such number." for name, rules in lines if rules]


def _wanted(of: str | Sequence[str]) -> list[str]:
    names = [part.strip() for part in of.split(",")] if isinstance(of, str) else list(of)
    if not names or not all(isinstance(one, str) and one for one in names):
        raise InputError(f"nothing to explain, got of = {shown(of)}; write for instance of = 'welfare,gap'")
    return list(dict.fromkeys(names))


def _check_words(by: Any, when: Any) -> None:
    for what, word, known in (("by", by, (None, "owner", "strategy")), ("when", when, ("auto", "end", "mean"))):
        if word not in known:
            listed = ", ".join(one for one in known if one)
            raise InputError(f"{what} must be one of {listed}, got {shown(word)}; give one of these")


def _check_first(sweep: Sweep, plan: _Plan) -> None:
    """Raise what the first scenario of each choice raises, before thousands of runs fail by it."""
    if plan.inputs.target.kind != "function":
        return
    choices = [place for place, one in enumerate(plan.factors) if isinstance(one.range, tuple)]
    settings, jobs, seen = plan.design.settings, sweep.jobs, set()
    for number, (places, _) in enumerate(settings):
        kind = tuple(places[place] for place in choices)
        if kind in seen:
            continue
        seen.add(kind)
        try:
            scenario_of(jobs[number])
        except FedabmError:
            raise
        except Exception as error:
            where = ", ".join(f"{name}={value}" for name, value in jobs[number].parameters.items() if name != "study")
            raise InputError(
                f"no scenario at {where[:200]}: {type(error).__name__}: {error}; mend what raised it"
            ) from None


def _name(target: Any) -> str:
    """What a folder is called after a target."""
    text = str(target if isinstance(target, str | Path) else getattr(target, "__name__", "model"))
    return Path(text).stem if ":" not in text else re.sub(r"\W+", "-", text.rpartition(":")[2]).strip("-") or "model"


def _found(
    plan: _Plan, values: Mapping[Explained, Array], notes: list[str], runs: int, folder: Path
) -> SensitivityIndices:
    rows: list[dict[str, Any]] = []
    kept: dict[Explained, Array] = {}
    for outcome, column in values.items():
        blocks = column.reshape(plan.points.shape[:2])
        whole: Flags = np.all(np.isfinite(blocks), axis=1)
        why = _nothing(outcome, blocks, whole, plan.method)
        if why:
            notes.append(why)
            continue
        if not whole.all():
            lost = f"{int((~np.isfinite(column)).sum())} of {column.size} points have no finite {outcome}"
            notes.append(f"{lost}: {int((~whole).sum())} of {len(whole)} blocks of points are left out.")
        kept[outcome] = column
        found = _indices(plan, blocks, whole)
        half = {(one.kind, one.inputs): one.value for one in _indices(plan, blocks, whole, part=2)}
        rows += [_row(outcome, one, plan.names, half.get((one.kind, one.inputs), np.nan)) for one in found]
        notes += _sentences(plan, outcome, found, half)
    if not rows:
        raise InputError(f"nothing to explain: {' '.join(notes)} Vary something else, or ask for another outcome")
    places, apart = np.array(plan.design.places, dtype=float), plan.method.independent(plan.points)
    shown_values = {
        one.name: [one.shown(place) for place in places[:, number].tolist()] for number, one in enumerate(plan.factors)
    }
    points = pd.DataFrame({**shown_values, SEED: plan.design.seeds, **{str(one): kept[one] for one in kept}})
    return SensitivityIndices(
        pd.DataFrame(rows),
        curves_of(plan.factors, places[apart], {name: column[apart] for name, column in kept.items()}),
        points,
        plan.name,
        (plan.method.main, plan.method.second),
        plan.count,
        runs,
        tuple(notes),
        folder,
    )


def _indices(plan: _Plan, blocks: Array, whole: Flags, part: int = 1) -> list[Index]:
    """The indices of all blocks without a gap, or of the first part of them."""
    chosen = np.flatnonzero(whole[: len(whole) // part])
    sequences = plan.method.sequences(len(whole))
    return plan.method.indices(plan.points[chosen], blocks[chosen], plan.seed, sequences[chosen])


def _nothing(outcome: Explained, blocks: Array, whole: Flags, method: Method) -> str:
    """Why there is nothing to explain, if so."""
    if whole[: len(whole) // 2].sum() < max(4, method.least // 4):
        return f"{outcome} is finite in {int(np.isfinite(blocks).sum())} of {blocks.size} points, too few to explain."
    known = blocks[whole]
    if np.ptp(known) <= _SAME * np.abs(known).max():
        return f"{outcome} is the same in all runs ({known.flat[0]:.6g}): nothing drives it."
    return ""


def _row(outcome: Explained, one: Index, names: Sequence[str], half: float) -> dict[str, Any]:
    inputs = [names[number] for number in one.inputs]
    pair = {"input": inputs[0], "with": inputs[1] if len(inputs) > 1 else ""}
    return {**outcome._asdict(), "index": one.kind, **pair, "value": one.value, "±": one.half, "at half": half}


def _sentences(plan: _Plan, outcome: Explained, found: Sequence[Index], half: Mapping[Any, float]) -> list[str]:
    """How much is noise, whether the indices have settled, and how many runs would be enough."""
    main = [one for one in found if one.kind == plan.method.main]
    lines = []
    if plan.seeded:
        lines.append(_noise(plan, outcome, found))
    kind, before = plan.method.main, np.array([half.get((one.kind, one.inputs), np.nan) for one in main])
    moved = float(np.abs(before - [one.value for one in main]).max())
    lines.append(f"{outcome}: from half of the runs to all, no {kind} index moved by more than {moved:.2g}.")
    needed = plan.method.needed(found, plan.count)
    if needed:
        size = plan.method.size(plan.points.shape[-1])
        wide = max(one.half for one in found if np.isfinite(one.half) and len(one.inputs) == 1)
        goal = "a tenth of the largest effect" if plan.name == "morris" else "± 0.1"
        lines.append(
            f"{outcome}: too few runs, as the widest interval is ± {wide:.2g}; about n = {needed:,} "
            f"({needed * size:,} runs) would bring it to {goal}."
        )
    return lines


def _noise(plan: _Plan, outcome: Explained, found: Sequence[Index]) -> str:
    """What the seed alone does."""
    seed = len(plan.factors)
    (main,) = (one for one in found if one.kind == plan.method.main and one.inputs == (seed,))
    if main.value == 0.0:
        size = plan.method.size(seed + 1) - plan.method.size(seed)
        saved = f"you save {size * plan.count:,} runs" if size else "it is no input"
        return f"{outcome}: the seed changes nothing; with --one-seed {saved}."
    if plan.name == "sobol":
        share, wide = 100 * main.value, 100 * main.half
        return f"{outcome}: seeds make {share:.2g}% (± {wide:.2g}) of the variance: that is noise."
    word = {"morris": "another seed changes it by", "pawn": "seeds have a distance of"}[plan.name]
    return f"{outcome}: {word} {main.value:.3g} (± {main.half:.2g}): that is noise."
