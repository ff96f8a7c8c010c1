"""One frozen, validated description of a study's run; vary it with `dataclasses.replace`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx

from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, shown
from fedabm.games.accuracy.base import Oracle
from fedabm.games.accuracy.training import training_of
from fedabm.games.valuation import ReceivedAccuracy, Valuation
from fedabm.knowledge import Knowledge, Public, check_needs, emptiness, uncheckable
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.results.columns import Column, check_columns
from fedabm.results.keep import Recording
from fedabm.simulation.activation import Activation, Simultaneous
from fedabm.simulation.network import check_network
from fedabm.simulation.owners import OwnerProfile, Owners, population
from fedabm.simulation.participation import Everyone, Participation
from fedabm.simulation.stopping import AtRest, Stopping

__all__ = ["OwnerProfile", "Owners", "Scenario", "population"]


@dataclass(frozen=True)
class Scenario:
    """Who plays (owners), for what (accuracy), under which rule (mechanism), in which order, for how long.

    `valuation` is what a settled step is worth to owners: by default the accuracy they receive less their cost.
    A run ends after `steps`, or earlier by its `stopping` rule: by default when nobody moves by more than `tolerance`
    times its capacity any more.  It has converged only if the certified gap is then at most `gap_tolerance`.
    `network` is a NetworkX graph of who sees whom, by number or name (`fedabm.simulation.network`), `columns` are
    further columns of the frames (`fedabm.results.columns.Column`).  `seats` is the number of owners that the accuracy
    knows where that is more than there are at the beginning: room for those who are added while the run goes on.
    `record` keeps every k-th step in the frames (None: the last step only), so that memory stays bounded; a
    `fedabm.results.keep.Recording` also a sample of the owners or sums by strategy.
    `participation` says who is there in each round (`fedabm.simulation.participation`): by default everyone.
    `pay_every` is the number of steps in a stage: payments are kept and settled at its end (see `Treasury`).
    `knowledge` is what the server knows of the worth of data (`fedabm.knowledge`; None: what the accuracy announces).
    A mechanism that needs more is refused, unless the knowledge is `Nothing()`: then it runs, and `empty` says why it
    has no effect.
    Who sends an update that cannot be used is settled as if it had claimed 0; with `pay_rejected` its claim stands,
    as in the papers, whose payments depend on claims alone.

    Parameters
    ----------
    owners : Sequence[OwnerProfile]
        Who takes part, as `population` makes them.
    accuracy : Oracle
        What models are worth to owners at a profile of contributions.
    mechanism : Mechanism, optional
        The rule that decides who gets which model and who pays whom.
    activation : Activation, optional
        In which order owners decide.
    steps : int, optional
        After how many steps a run ends at the latest.
    tolerance : float, optional
        Owners that move by no more than this times their capacity are at rest.
    record : int | Recording | None, optional
        Which steps and owners the frames keep.
    name : str, optional
        What the run is called in frames.
    valuation : Valuation, optional
        What a settled step is worth to owners; by default accuracy less cost.
    pay_every : int, optional
        After how many steps money is settled.
    stopping : Stopping, optional
        When a run ends earlier.
    gap_tolerance : float, optional
        The certified gap up to which a run counts as converged.
    network : nx.Graph | None, optional
        Who sees whom, by number or name.
    columns : tuple[Column, ...], optional
        Further columns of the frames.
    seats : int | None, optional
        How many owners the accuracy knows, where that is more than take part.
    participation : Participation, optional
        Who takes part in a round.
    knowledge : Knowledge | None, optional
        What the server knows of the worth of data.
    pay_rejected : bool, optional
        Whether owners are paid for updates that were dropped.
    """

    owners: Sequence[OwnerProfile]
    accuracy: Oracle
    mechanism: Mechanism = field(default_factory=NoPayments)
    activation: Activation = field(default_factory=Simultaneous)
    steps: int = 200
    tolerance: float = 1e-9
    record: int | Recording | None = 1
    name: str = "scenario"
    valuation: Valuation = field(default_factory=ReceivedAccuracy)
    pay_every: int = 1
    stopping: Stopping = field(default_factory=AtRest)
    gap_tolerance: float = 1e-8
    network: nx.Graph | None = None
    columns: tuple[Column, ...] = ()
    seats: int | None = None
    participation: Participation = field(default_factory=Everyone)
    knowledge: Knowledge | None = None
    pay_rejected: bool = False

    def __post_init__(self) -> None:
        people = Owners.of(self.owners)
        people.check_names()
        object.__setattr__(self, "owners", people)
        training_of(self.accuracy)  # it has one
        for what, value, kind in (
            ("mechanism", self.mechanism, Mechanism),
            ("activation", self.activation, Activation),
            ("valuation", self.valuation, Valuation),
            ("stopping", self.stopping, Stopping),
            ("participation", self.participation, Participation),
        ):
            check_kind(what, value, kind)
        self.participation.check(self.room)
        wanted = self.accuracy.owners
        if wanted is not None and wanted != self.room:
            raise InputError(f"{self.room} owners but an accuracy for {wanted}; give the same number")
        if self.knowledge is not None:
            check_kind("knowledge", self.knowledge, Knowledge)
        self.knows.check(self.accuracy, self.room)
        check_needs(self.knowledge, self.mechanism, self.accuracy)
        if not isinstance(self.pay_rejected, bool):
            raise InputError(f"pay_rejected must be true or false, got {shown(self.pay_rejected)}; give one of them")
        if self.network is not None:
            check_network(self.network, len(self.owners))
        object.__setattr__(self, "columns", tuple(self.columns))
        for column in self.columns:
            check_kind("a column", column, Column)
        check_columns(self.columns)
        check_whole("steps", self.steps)
        if self.seats is not None:
            check_whole("seats", self.seats, len(self.owners))
        check_whole("pay_every", self.pay_every)
        check_positive("tolerance", self.tolerance, zero=True)
        check_positive("gap_tolerance", self.gap_tolerance, zero=True)
        if self.record is not None and not isinstance(self.record, Recording):
            check_whole("record", self.record)

    @property
    def keep(self) -> Recording:
        """What the frames keep."""
        return Recording.of(self.record)

    @property
    def knows(self) -> Knowledge:
        """What the server knows."""
        return Public() if self.knowledge is None else self.knowledge

    @property
    def empty(self) -> str:
        """Why the mechanism pays nothing and rations nobody here; empty text if it has what it needs."""
        return emptiness(self.knows, self.mechanism, self.accuracy) or uncheckable(
            self.knows, self.mechanism, self.accuracy
        )

    @property
    def room(self) -> int:
        """For how many owners there is room if the accuracy needs to know."""
        return len(self.owners) if self.seats is None else self.seats
