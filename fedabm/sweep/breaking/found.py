"""Where a condition fails: boxes by PRIM and a small tree, judged on runs that were held out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.arrays import Flags
from fedabm.common.errors import InputError, check_kind, nearest
from fedabm.common.notebooks import as_html
from fedabm.results.frames import Frames
from fedabm.sweep.breaking.prim import Box, f_score, find_box

__all__ = ["Breaks", "where_it_breaks"]

#: which share of the runs is held out, and the fewest that must meet the condition, and not, among the others
_HELD_OUT, _FEWEST = 1 / 3, 10
#: at most this many boxes, each of which must raise the score of all together by so much
_MOST, _RAISES = 4, 0.02
#: how often boxes are looked for again beside each other
_ROUNDS = 3
#: how many questions a tree asks one after the other, and what another one must at least explain
_DEPTH, _SHORT = 3, 0.002
#: columns of `runs` behind the parameters
_BEHIND = ("error", "traceback")


@dataclass(frozen=True, eq=False, repr=False)
class Breaks:
    """Boxes in which a condition holds, and a tree that says the same; how good both are where they were not fitted.

    Parameters
    ----------
    condition : str
        What was looked for.
    boxes : tuple of Box
        The boxes, the first one is the best alone.
    table : pd.DataFrame
        Precision and recall of every box, of all together and of the tree, on the runs that were held out.
    tree : str
        The tree in words.
    runs : pd.DataFrame
        The parameters of every run that was used, whether it meets the condition (`breaks`), and whether it was
        held out (`held_out`).
    notes : tuple of str
        What was left out, and why.
    """

    condition: str
    boxes: tuple[Box, ...]
    table: pd.DataFrame
    tree: str
    runs: pd.DataFrame
    notes: tuple[str, ...] = field(default=())

    @property
    def precision(self) -> float:
        """Of all boxes together, on runs that were held out."""
        return self._together("precision")

    @property
    def recall(self) -> float:
        """Of all boxes together, on runs that were held out."""
        return self._together("recall")

    def _together(self, name: str) -> float:
        return float(self.table.set_index("what").loc["all boxes", name])

    def __repr__(self) -> str:
        where = "; or ".join(map(str, self.boxes)) or "no box is better than everywhere"
        return (
            f"Breaks({self.condition} in {self.runs['breaks'].mean():.0%} of {len(self.runs):,} runs: {where}; "
            f"precision {self.precision:.2f}, recall {self.recall:.2f} on {int(self.runs['held_out'].sum()):,} others)"
        )

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.table.to_dict("records"))


def where_it_breaks(frames: Frames, condition: str, seed: int = 0) -> Breaks:
    """The boxes of a sweep's parameters in which a condition on its runs holds, such as "gap > 0.1".

    A third of the cells of the design is held out; boxes (PRIM, Friedman and Fisher 1999) and tree are found on the
    others and judged on these.  Runs of one cell are never on both sides.

    Parameters
    ----------
    frames : Frames
        What `fedabm.load` gives for the folder of a sweep.
    condition : str
        On columns of `runs`, and of `steps` in the last step of each run; as pandas reads it.
    seed : int, optional
        Which cells are held out.

    Returns
    -------
    Breaks
        Boxes, tree, and how good they are.
    """
    check_kind("frames", frames, Frames)
    table, notes = _parameters(frames.runs)
    ends = frames.runs.merge(
        frames.at_end("steps").drop(columns=[one for one in frames.runs if one != "run"], errors="ignore"),
        on="run",
        how="left",
    )
    hits, known = _met(ends, condition)
    left = int((~known).sum())
    notes += [f"{left:,} of {len(ends):,} runs have no value of what the condition asks for, and are left out"] * bool(
        left
    )
    table, hits = table[known].reset_index(drop=True), hits[known]
    held = _held_out(table, seed)
    _enough(hits[~held], condition)
    _enough(hits[held], condition, least=1)
    boxes = _boxes(table[~held], hits[~held])
    names, tree = _tree(table, hits, held, seed)
    judged = [(str(box), box.holds(table)) for box in boxes]
    together = _covered(list(boxes), table)
    rows = [
        _judged(what, inside[held], hits[held]) for what, inside in [*judged, ("all boxes", together), ("tree", tree)]
    ]
    runs = table.assign(breaks=hits, held_out=held)
    return Breaks(condition, boxes, pd.DataFrame(rows), names, runs, tuple(notes))


def _parameters(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The parameters that differ between runs, numbers as they are and all else as text."""
    names = list(runs.columns)
    behind = names[names.index("wall_time") + 1 :] if "wall_time" in names else []
    given = [name for name in behind if name not in _BEHIND]
    varied = [name for name in given if runs[name].astype(str).nunique() > 1]
    whole = [name for name in varied if not runs[name].isna().any()]
    if not whole:
        raise InputError("no parameter differs between the runs; give the folder of a sweep over parameters")
    notes = [f"{name} is missing in some runs, and left out" for name in varied if name not in whole]
    table = runs[whole].reset_index(drop=True)
    numeric = [pd.api.types.is_numeric_dtype(one) and not pd.api.types.is_bool_dtype(one) for _, one in table.items()]
    columns = {
        name: table[name].astype(float) if number else table[name].astype(str)
        for name, number in zip(whole, numeric, strict=True)
    }
    return pd.DataFrame(columns), notes


def _met(ends: pd.DataFrame, condition: str) -> tuple[Flags, Flags]:
    """Which runs meet the condition, and of which it is known."""
    words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", condition)))
    asked = [name for name in ends.columns if name in words]
    if not asked:
        word = min(words, default=condition, key=len)
        raise InputError(f"the condition {condition!r} names no column of runs or steps; {nearest(word, ends.columns)}")
    try:
        met = ends.eval(condition, engine="python")
    except Exception as error:  # pandas raises whatever the expression does
        raise InputError(f"cannot read the condition {condition!r} ({error}); write for instance 'gap > 0.1'") from None
    if not isinstance(met, pd.Series) or not pd.api.types.is_bool_dtype(met):
        raise InputError(f"the condition {condition!r} is neither true nor false; write for instance 'gap > 0.1'")
    return met.to_numpy(dtype=bool), ends[asked].notna().all(axis=1).to_numpy()


def _held_out(table: pd.DataFrame, seed: int) -> Flags:
    """A third of the cells at random, with all their runs."""
    cells = table.groupby(list(table.columns), sort=False).ngroup().to_numpy()
    order = np.random.default_rng([seed, len(table)]).permutation(int(cells.max()) + 1)
    return np.isin(cells, order[: round(_HELD_OUT * len(order))])


def _enough(hits: Flags, condition: str, least: int = _FEWEST) -> None:
    """Raise where there are too few runs on either side to learn from."""
    met, others = int(hits.sum()), int((~hits).sum())
    if min(met, others) < least:
        which = "meet" if met < others else "do not meet"
        raise InputError(
            f"only {min(met, others)} of {len(hits):,} runs {which} {condition!r}; at least {least} are needed: "
            "run more cells, or choose another condition"
        )


def _boxes(table: pd.DataFrame, hits: Flags) -> tuple[Box, ...]:
    """One box after the other, each on the runs that lie in none before, as long as all together get better.

    Peeling is greedy, and what it takes for one box while there are several may be a mixture of them; so every box is
    looked for again on the runs that lie in no other.
    """
    found: list[Box] = []
    score = f_score(np.ones(len(table), dtype=bool), hits)  # of everywhere
    while len(found) < _MOST:
        trial = _again([*found, Box()], table, hits)
        better = f_score(_covered(trial, table), hits)
        if not all(one.limits for one in trial) or better < score + _RAISES:
            break
        found, score = trial, better
    return tuple(found)


def _again(boxes: list[Box], table: pd.DataFrame, hits: Flags) -> list[Box]:
    """The boxes, each found anew beside the others, the last one first, as long as all together get better."""
    best, score = boxes, -1.0
    for _ in range(_ROUNDS):
        for place in reversed(range(len(boxes))):
            rest = ~_covered([*boxes[:place], *boxes[place + 1 :]], table)
            enough = (hits & rest).sum() >= _FEWEST
            found = find_box(table[rest], hits[rest]) if enough else Box()
            boxes = [*boxes[:place], found, *boxes[place + 1 :]]
            if not found.limits:
                return best
        if f_score(_covered(boxes, table), hits) <= score:
            return best
        best, score = boxes, f_score(_covered(boxes, table), hits)
    return best


def _covered(boxes: list[Box], table: pd.DataFrame) -> Flags:
    """Which runs lie in any of some boxes."""
    return np.any([one.holds(table) for one in boxes], axis=0) if boxes else np.zeros(len(table), dtype=bool)


def _tree(table: pd.DataFrame, hits: Flags, held: Flags, seed: int) -> tuple[str, Flags]:
    """A tree of few questions in words, and what it says of all runs."""
    from sklearn.tree import DecisionTreeClassifier, export_text  # slow to import

    features = pd.get_dummies(table, prefix_sep=" = ").astype(float)
    least = max(5, int((~held).sum()) // 50)
    model = DecisionTreeClassifier(max_depth=_DEPTH, min_samples_leaf=least, ccp_alpha=_SHORT, random_state=seed)
    model.fit(features[~held], np.where(hits[~held], "breaks", "holds"))
    text = export_text(model, feature_names=list(features.columns), decimals=4)
    return text.rstrip(), np.asarray(model.predict(features) == "breaks")


def _judged(what: str, inside: Flags, hits: Flags) -> dict[str, Any]:
    caught = float(np.sum(inside & hits))
    precision = caught / inside.sum() if inside.any() else np.nan
    return {"what": what, "runs": int(inside.sum()), "precision": precision, "recall": caught / hits.sum()}
