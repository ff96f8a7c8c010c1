"""The server looks at this round's updates: what coalitions of them are worth, or a score for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from fedabm.common.errors import InputError, check_kind, nearest
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.knowledge.base import Context, Knowledge
from fedabm.knowledge.nothing import standing
from fedabm.knowledge.public import same
from fedabm.learning.engine.engine import Engine
from fedabm.learning.knowledge.checks import check_shows_updates
from fedabm.learning.oracles.updates import Updates
from fedabm.views.known import Kind, Known

__all__ = ["FromUpdates"]

_WAYS = ("coalitions", "cosine", "root")


@dataclass(frozen=True)
class FromUpdates(Knowledge):
    """What the updates of this round show, known when the server settles.

    by="coalitions"  what the mean of the updates of any coalition, or what a robust rule finds among them, makes of
                     the last model (Song et al. 2019)
    by="cosine"      a score for each: the cosine between its update and the mean of all (Xu et al. 2021)
    by="root"        a score for each: the cosine between its update and the one that training on data of the server
                     gives, at least 0 (FLTrust, Cao et al. 2021)

    Coalitions are judged on the owners' test parts, or with a `server` engine on the test part of the server's own
    data; "root" trains on its training part.  Before owners decide the server knows what the last round has shown, in
    the first round nothing, so that owners that respond to offers give nothing; nobody states an error.  Any rule that
    asks for coalitions is answered exactly; above 12 owners rules ask for sampled ones, which a run says.

    Parameters
    ----------
    by : Literal['coalitions', 'cosine', 'root'], optional
        What is looked at: "coalitions", "cosine" or "root".
    server : Engine | None, optional
        An engine on the server's own data, to train and judge on.
    """

    by: Literal["coalitions", "cosine", "root"] = "coalitions"
    server: Engine | None = None
    keeps_updates: ClassVar[bool] = True
    reads_measured: ClassVar[bool] = True
    only_ranks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.by not in _WAYS:
            raise InputError(f"updates are looked at by {', '.join(_WAYS)}, got {self.by!r}; {nearest(self.by, _WAYS)}")
        if self.server is not None:
            check_kind("server", self.server, Engine)
        if self.by == "root" and self.server is None:
            raise InputError('FromUpdates(by="root") trains on data of the server, got none; give server=Engine(...)')

    def kind(self, accuracy: Oracle) -> Kind:
        """Coalitions or scores."""
        return "coalitions" if self.by == "coalitions" else "scores"

    def echoes(self, accuracy: Oracle) -> bool:
        """Updates are worth what they are worth, whatever is claimed."""
        return True

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise unless one model is learned from means of updates, and the server's engine has the same network."""
        check_shows_updates(self, accuracy, self.server, coalitions=self.by == "coalitions")

    def before(self, context: Context) -> Known:
        """What the last round has shown, and how many models were judged for that so far."""
        last, updates = context.last, context.updates
        if last is None or updates is None:
            return same(last, "none", standing(context))
        judged = self._judged(updates)
        return last if last.evaluations == judged else replace(last, evaluations=judged)

    def after(self, context: Context) -> Known:
        """What this round's updates show; nothing if nobody has sent any."""
        if context.updates is None:
            return same(context.last, "none", standing(context))
        if self.by == "coalitions":
            worth = context.accuracy.worth_of(context.updates.coalitions(self.server).public)
            return Known("coalitions", worth, since=context.step)
        scores = self._scores(context.updates)
        known = Known("scores", standing(context), since=context.step, scores=scores)
        return replace(known, trainings=1) if self.by == "root" else known

    def found_again(self, context: Context) -> tuple[Accuracy, ...]:
        """The public accuracies, and coalitions of the last round's updates."""
        public = super().found_again(context)
        if self.by != "coalitions" or context.updates is None:
            return public
        return (*public, context.accuracy.worth_of(context.updates.coalitions(self.server).public))

    def _scores(self, updates: Updates) -> np.ndarray:
        if self.by == "cosine" or self.server is None:
            return updates.cosines()
        return np.maximum(updates.cosines(updates.trained_by(self.server)), 0.0)

    def _judged(self, updates: Updates) -> int:
        return updates.coalitions(self.server).models.judged if self.by == "coalitions" else 0
