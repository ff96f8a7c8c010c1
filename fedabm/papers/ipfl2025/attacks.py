"""iPFL 2025, Figure 4: one owner attacks; benign owners keep their accuracy, and the attacker has less than before.

"Only our iPFL succeeds" in both: one rival that does refutes it, and every rival must fail in one of them.  Each of
these is told from the 95% interval of the change over seeds.  `planned` judges runs that were planned beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fedabm.common.confidence import half_width
from fedabm.papers.ipfl2025.evidence import COMPARABLE, RunEvidence
from fedabm.papers.ledger.rows import ClaimInterval, Finding
from fedabm.papers.ledger.training import Tables, seeds
from fedabm.papers.presets import more_seeds

__all__ = ["CRITERION", "Weighed", "attacked", "intervals", "rules_under", "weigh"]

CRITERION = (
    "criterion, by 95% intervals over seeds: the mean of benign owners falls by less than a point against the same "
    "run with an honest owner in the attacker's place, and the attacker's utility falls"
)


def attacked(study: Tables, more: Tables | None = None, *, evidence: RunEvidence, attack: str) -> Finding:
    """Figure 4 in one study; rules that were run with `more` seeds are judged by those."""
    table = rules_under(attack, study, more)
    weighed = weigh(table)
    shares = {"moved": table.loc["iPFL"].get("moved", 0.0), "by_accuracy": weighed.by_accuracy}
    ours = f"{evidence.what}: {weighed.words}"
    criterion, within = f"{CRITERION}; {weighed.also}", weighed.within
    found = evidence.verdict(ours, weighed.claim, criterion, within=within, accuracy="unmeasured", **shares)
    return replace(found, intervals=intervals(table))


def rules_under(attack: str, found: Tables, more: Tables | None = None) -> pd.DataFrame:
    """The rules of a study under one attack, those that were run with more seeds from there."""
    table = _under(found, attack)
    if more is None:
        return table
    longer = _under(more, attack)
    order = [*table.index, *longer.index.difference(table.index)]
    return pd.concat([longer, table.drop(longer.index, errors="ignore")]).loc[order]


def _under(found: Tables, attack: str) -> pd.DataFrame:
    return found["summary"].set_index(["rule", "attack"]).xs(attack, level="attack")


@dataclass(frozen=True)
class Weighed:
    """What follows from a table of rules: what the market does, which rivals do as well, what seeds do not tell.

    `by_accuracy` says that accuracies alone refute the claim, which are of an early stage.
    """

    mine: bool | None
    rivals: dict[str, bool | None]
    doubts: dict[str, str]
    by_accuracy: bool
    words: str

    @property
    def agreeing(self) -> list[str]:
        """The rivals under which both hold."""
        return [rule for rule, does in self.rivals.items() if does]

    @property
    def also(self) -> str:
        """The same in words."""
        agreeing = ", ".join(self.agreeing)
        return f"so it is under {agreeing}: iPFL is not the only one" if agreeing else "under no rival are both so"

    @property
    def refuted(self) -> bool:
        """Whether a rival does it, or the market does not."""
        return bool(self.agreeing) or self.mine is False

    @property
    def claim(self) -> bool:
        """Whether the market does it and every rival fails."""
        return bool(self.mine) and all(does is False for does in self.rivals.values())

    @property
    def within(self) -> str:
        """What seeds do not tell, unless that does not matter."""
        return "" if self.refuted else "; ".join(self.doubts.values())


def intervals(table: pd.DataFrame) -> tuple[ClaimInterval, ...]:
    """What the claim turns on, by rule: benign owners keep their accuracy within a point, and the attacker loses."""
    return tuple(one for rule, case in table.iterrows() for one in _of_rule(str(rule), case))


def _of_rule(rule: str, case: pd.Series) -> tuple[ClaimInterval, ClaimInterval]:
    kept = float(case["points"] + COMPARABLE), float(half_width(case["s.d."], case["seeds"]))
    lost = float(-case["attacker change"]), float(half_width(case["attacker change s.d."], case["seeds"]))
    return ClaimInterval(f"{rule}: benign owners, points above a loss of one", *kept), ClaimInterval(
        f"{rule}: attacker loses", *lost
    )


def weigh(table: pd.DataFrame) -> Weighed:
    """Every rule of a table by its intervals."""
    does = {str(rule): _withstands(one) for rule, one in table.iterrows()}
    doubts = {str(rule): _doubt(str(rule), one) for rule, one in table.iterrows() if does[str(rule)] is None}
    words = "; ".join(f"{rule}, {seeds(one)}: {_harm(one)}" for rule, one in table.iterrows())
    own, mine = table.loc["iPFL"], does.pop("iPFL")
    poorer = _above(-own["attacker change"], own["attacker change s.d."], own["seeds"])
    by_accuracy = not any(does.values()) and poorer is not False
    return Weighed(mine, does, doubts, by_accuracy, words)


def _harm(case: pd.Series) -> str:
    benign = _interval(case["points"], case["s.d."], case["seeds"], ".1f")
    villain = _interval(case["attacker change"], case["attacker change s.d."], case["seeds"])
    return f"benign {benign} points, attacker's utility {case['attacker utility before']:.3g} {villain}"


def _interval(mean: float, deviation: float, count: float, form: str = ".3g") -> str:
    """A change with half of its 95% interval, if there is more than one seed."""
    width = half_width(deviation, count)
    return f"{mean:+{form}}{f' +- {width:{form}}' if np.isfinite(width) else ''}"


def _above(mean: float, deviation: float, count: float) -> bool | None:
    """Whether a mean over seeds is above zero, beyond its 95% interval; None if that cannot be told."""
    width = half_width(deviation, count)
    return bool(mean > 0) if width == 0 or abs(mean) > width else None


def _withstands(case: pd.Series) -> bool | None:
    """Accuracy kept within a point, and less for the attacker than before; None if seeds do not tell."""
    kept = _above(case["points"] + COMPARABLE, case["s.d."], case["seeds"])
    poorer = _above(-case["attacker change"], case["attacker change s.d."], case["seeds"])
    if kept is False or poorer is False:
        return False
    return True if kept and poorer else None


def _doubt(rule: str, case: pd.Series) -> str:
    """What seeds do not tell about a rule, and how many would."""
    count = int(case["seeds"])
    changes = {
        "accuracy": (case["points"] + COMPARABLE, half_width(case["s.d."], count)),
        "attacker": (case["attacker change"], half_width(case["attacker change s.d."], count)),
    }
    open_ones = {name: one for name, one in changes.items() if one[1] != 0 and not abs(one[0]) > one[1]}
    return f"{rule} ({', '.join(f'{name}: {more_seeds(*one, count)}' for name, one in open_ones.items())})"
