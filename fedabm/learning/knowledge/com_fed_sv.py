"""The Shapley value of every round, also for owners that were not selected in it: the table of values is completed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_number, check_whole
from fedabm.games.accuracy.base import Oracle
from fedabm.games.curves import Array
from fedabm.knowledge.base import Context
from fedabm.learning.knowledge.round_shapley import RoundGame, RoundShapley, RoundValues
from fedabm.shapley.completed import completed
from fedabm.shapley.of_values import coalitions_of, shapley_of_values

__all__ = ["MOST_OWNERS", "ComFedSV", "seen"]

#: the table has a column for each of 2^n coalitions
MOST_OWNERS = 12


@dataclass(frozen=True)
class ComFedSV(RoundShapley):
    """Completed federated Shapley value: what was not seen of the table (rounds, coalitions) is filled in first.

    Rows are rounds, columns coalitions X of all owners; an entry v_t(X) is seen if all of X took part in round t.  The
    table is completed by a product of two thin ones (`rank`, `weight`), and each row has its Shapley value, so that an
    owner does not lose by not being selected.  Fan et al. 2022, Section V, for at most 12 owners; it asks that all
    take part in the first round ("everyone being heard"), else whoever was never seen beside others counts as adding
    nothing to them.

    A round's score is its row's value, completed by what has been seen up to then; where all take part nothing is
    completed, and it is that of `FedSV`.  With three of five owners a round a third of the models is judged, and scores
    of early rounds, completed from little, may be far off.  It ranks and does not price, see `RoundShapley`.  Its best
    lie is that of `FedSV`, a longer update, and who has been seen once is paid for staying away.

    Parameters
    ----------
    utility : Literal['loss', 'accuracy'], optional
        What models are judged by: "loss" or "accuracy".
    server : Engine | None, optional
        An engine with data of the server's own to judge by; None: the owners' test parts.
    rank : int, optional
        Rank of the completed table.
    weight : float, optional
        Weight of the squared factors in the completion.
    """

    rank: int = 2
    weight: float = 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("rank", self.rank)
        check_number("weight of the factors", self.weight)

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise if there are too many coalitions, beside what all kinds of round Shapley refuse."""
        super().check(accuracy, owners)
        if owners > MOST_OWNERS:
            most = f"ComFedSV completes values of all coalitions of at most {MOST_OWNERS} owners"
            raise InputError(f"{most}, got {owners}; use GTGShapley()")

    def valued(self, game: RoundGame, context: Context) -> RoundValues:
        """The value of this round's row."""
        row, evaluations = seen(game)
        before = None if context.last is None else context.last.history
        table = row[None] if before is None else np.vstack([before, row])
        scores = shapley_of_values(completed(table, self.rank, self.weight)[-1])
        return RoundValues(scores, evaluations, table)


def seen(game: RoundGame) -> tuple[Array, int]:
    """What every coalition gained in a round, (2^n,), not a number for those of whom somebody was away; the cost."""
    owners, who = len(game.updates.claimed), game.who
    members = coalitions_of(owners, who)
    values = game.values(members)
    row = np.full(2**owners, np.nan)
    row[members @ (1 << np.arange(owners))] = values - values[0]
    return row, len(values)
