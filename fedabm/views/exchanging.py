"""Training in which every owner has a model of its own: what reaches the server of them, and what it sends back."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from fedabm.games.accuracy.training import S, State, Training
from fedabm.games.curves import Rows
from fedabm.views.exchange import Exchange, Sent
from fedabm.views.reports import Reports

__all__ = ["Exchanging", "deliver", "sent"]


class Exchanging(Training[S]):
    """A training in which owners send models and are sent others back."""

    @abstractmethod
    def sent(self, state: S, rows: Rows, reports: Reports, *, with_losses: bool = False) -> Sent:
        """What the owners in `rows` sent beside their reports in the last round, with losses if the server asks."""

    def deliver(self, state: S, rows: Rows, exchange: Exchange) -> S:
        """After the server has sent the owners in `rows` what the mechanism decided; by default models stay."""
        return state


def sent(
    training: Training[Any], state: State, rows: Rows, reports: Reports, *, with_losses: bool = False
) -> Sent | None:
    """What the owners in `rows` sent, whatever stands around the training; None where all share one model.

    Parameters
    ----------
    training : Training[Any]
        What makes the models.
    state : State
        What it has come to.
    rows : Rows
        The owners that take part.
    reports : Reports
        What owners have told the server.
    with_losses : bool, optional
        Whether losses on the owners' own data are wanted.

    Returns
    -------
    Sent | None
        The models to ask about; None where all share one.
    """
    inner, present = training.unwrap(state)
    return inner.sent(present, rows, reports, with_losses=with_losses) if isinstance(inner, Exchanging) else None


def deliver(training: Training[Any], state: State, rows: Rows, exchange: Exchange) -> State:
    """The state after the server has sent models back; the same where all share one model.

    Parameters
    ----------
    training : Training[Any]
        What makes the models.
    state : State
        What it has come to.
    rows : Rows
        The owners that take part.
    exchange : Exchange
        What the server sends back.

    Returns
    -------
    State
        The state after that.
    """
    inner, present = training.unwrap(state)
    return training.within(state, inner.deliver(present, rows, exchange)) if isinstance(inner, Exchanging) else state
