"""What an oracle of accuracies must offer: pure functions, in closed form or of models that `training` has made.

An oracle maps a profile of contributions to what the shared model is worth to each owner, a_i(s).  Mechanisms,
strategies and the solver only ever ask an oracle:

- `values(profiles)`: accuracies for many profiles at once, (k, n) -> (k, n);
- `curves(profile)`: each owner's accuracy as a function of its own contribution, the others' fixed;
- `spillovers(profile)`: what the others' accuracies sum to, as a function of the own contribution;
- `marginals(profile)`: the full matrix d a_i / d s_j, for small games;
- `traits`: what is known beyond that, by which everybody decides how to go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_pairs
from fedabm.common.leave_one_out import sum_of_others
from fedabm.common.rowwise import sum_last
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.mixture import Groups, Mixture, PowerDensity
from fedabm.games.curves import Along, AlongEach, AlongOwn, Array, Curve, Rows, align_rows
from fedabm.games.traits import Declaring, WorthTraits, forward, record
from fedabm.games.varied import Joinable, mapped

__all__ = ["Accuracy", "Exposure", "Oracle", "Probed", "Restricted"]


class Oracle:
    """What a scenario's `accuracy` can be: an accuracy, or a training (`fedabm.games.accuracy.training`).

    It is for this many `owners`; without a word of its own a class is for any number.
    """

    #: says how a_i changes with the own contribution; a model in training only shows what it is worth now
    tells: bool = True
    #: the kind of knowledge that `public` gives a server (`fedabm.views.known.KINDS`); asking costs nothing
    announces: str = "curve"
    #: owners send model updates, so that tampering with them has an effect
    takes_updates: bool = False
    #: values at what owners claim are those of the models that they sent, so that no false claim shows
    echoes_claims: bool = False
    #: there are data on which one model can be trained again (`Training.retrained`)
    retrains: bool = False
    #: one shared model is learned from these updates, and a server can keep them to look at
    keeps_updates: bool = False

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        # Not here: it would be the default of a dataclass's own field `owners`.
        stated = hasattr(cls, "owners") or "owners" in vars(cls).get("__annotations__", ())
        if not stated and not any(getattr(part, "__isabstractmethod__", False) for part in vars(cls).values()):
            cls.owners = None  # type: ignore[assignment, method-assign]

    if TYPE_CHECKING:

        @property
        def owners(self) -> int | None:
            """For how many owners it is defined; None: for any number."""

    @property
    def inner(self) -> Oracle:
        """What is really trained: itself, or the oracle that a wrapper stands around."""
        return self

    @property
    def traits(self) -> WorthTraits:
        """What is known of it for sure: nothing."""
        return WorthTraits()


class Accuracy(Joinable, Declaring, Oracle, ABC):
    """Accuracies a_i(s) of all owners at a profile s of contributions."""

    _kind_of_traits: ClassVar[type[WorthTraits]] = WorthTraits
    # Flags: `WorthTraits` says what they mean.
    concave: bool = False
    monotone: bool = False
    of_exposure: bool = False
    of_total: bool = False
    linear_in_all: bool = False
    of_exponentials: bool = False
    stacks: bool = False
    padded: bool = False
    #: every answer takes training models, so that none is asked for without need
    costly: bool = False

    @property
    def traits(self) -> WorthTraits:
        """All that is known of it beyond its values."""
        return record(WorthTraits, self)

    @abstractmethod
    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) of all owners at k profiles (k, n)."""

    def curves(self, profile: Array) -> Curve:
        """Each owner's accuracy as a function of its own contribution; the others stay at `profile`."""
        profile = np.asarray(profile, dtype=float)
        return Probed(self, profile, np.arange(len(profile)), self.kinks(profile))

    def kinks(self, profile: Array) -> Array:
        """Own contributions (n, b) between which the accuracy is as smooth and concave as promised.

        At a kink it may jump, at 0 too; infinity stands for none.
        """
        return np.empty((len(profile), 0))

    def spillovers(self, profile: Array) -> Curve:
        """sum_{j != i} a_j(s) as a function of owner i's own contribution; the others stay at `profile`."""
        profile = np.asarray(profile, dtype=float)
        return ProbedOthers(self, profile, np.arange(len(profile)), self.spillover_kinks(profile))

    def spillover_kinks(self, profile: Array) -> Array:
        """Own contributions (n, b) between which the others' accuracies are as smooth as the own one."""
        return self.kinks(profile)

    def marginals(self, profile: Array) -> Array:
        """The matrix d a_i / d s_j, by central differences unless a family knows better."""
        profile = np.asarray(profile, dtype=float)
        step = 1e-6 * np.maximum(1.0, np.abs(profile))
        up, down = profile + np.diag(step), np.maximum(profile - np.diag(step), 0.0)
        width = np.diagonal(up) - np.diagonal(down)
        return ((self.values(up) - self.values(down)) / width[:, None]).T

    def restrict(self, rows: Rows) -> Accuracy:
        """The same accuracies when only the owners in `rows` take part."""
        return Restricted(self, FrozenArray(np.asarray(rows, dtype=np.intp)))

    @property
    def public(self) -> Accuracy:
        """What the server announces and everybody goes by: by default the accuracies themselves."""
        return self

    def among(self, owners: int) -> Accuracy:
        """The same, made of an accuracy of this many owners; a user's may be made for all without saying so."""
        return self

    @property
    def states_curves(self) -> bool:
        """Whether its class says how curves are found, so that they can be wrong; differences cannot."""
        return type(self).curves is not Accuracy.curves

    def accuracy_of(self, worth: Array) -> Array:
        """How accurate a model is that is worth this to each owner: just that, unless owners have a payoff."""
        return worth

    def worth_of(self, other: Accuracy) -> Accuracy:
        """Another accuracy of the same owners as it is worth to them: just that, unless owners have a payoff."""
        return other

    def at_zero(self, owners: int) -> Array:
        """What each owner gets from an empty coalition, a_i(0); of many runs (runs, n) where they have own numbers."""
        found = self.values(np.zeros((1, owners)))
        return found if self.in_columns else found[0]

    # What only some families know

    def as_exposure(self) -> Exposure | None:
        """The curve of weighted sums that it is (`WorthTraits.of_exposure`); None: it is none."""
        return None

    def as_total(self) -> Exposure | None:
        """The curve of the total that it is to everybody (`WorthTraits.of_total`); None: it is none."""
        return None

    def as_common(self, owners: int) -> tuple[Exposure, Array] | None:
        """The curve v of the total and what a unit of it is worth to each owner, a_i(s) = factor_i v(S); None: no such.

        >>> from fedabm.games.accuracy.power_law import PowerLaw
        >>> PowerLaw().as_common(2)[1].tolist()
        [1.0, 1.0]
        """
        curve = self.as_total()
        return None if curve is None else (curve, np.ones(owners))

    def exposure_groups(self, owners: int) -> Groups | None:
        """The groups of owners with the same exposure, where these are few; None: nothing is known of them."""
        return None

    def exponentials(
        self, profile: Array, precision: float = 1e-15, reach: Array | None = None, order: int = 1
    ) -> Mixture:
        """The mixture of exponentials that is missing from the sum of all accuracies (`WorthTraits.of_exponentials`).

        It is as precise as asked around a profile, for own contributions up to `reach` and derivatives up to `order`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no exponentials; state them, or of_exponentials = False")

    def take_games(self, games: Rows) -> Accuracy:
        """The accuracies of some games of a table: one that serves them all serves some."""
        return self

    @property
    def power_density(self) -> PowerDensity | None:
        """The power of the exposure that is missing from its accuracies; None: the mixture has finitely many terms."""
        return None

    def own_jumps(self, owners: int) -> Array:
        """Own contributions (n, b) at which some coalition's accuracies jump, whatever the others contribute."""
        return np.empty((owners, 0))


class Exposure(Accuracy):
    """Accuracies that are one common curve of a weighted sum: a_i(s) = v(sum_j W_ij s_j).

    All weights W are one, and only the total matters, unless a subclass states `exposures` and the weights.
    """

    of_exposure = True
    of_total = True

    def as_exposure(self) -> Exposure | None:
        """Itself, unless a subclass has answers of its own."""
        return self if self.of_exposure else None

    def as_total(self) -> Exposure | None:
        """Itself where all weights are one."""
        return self if self.of_exposure and self.of_total else None

    def exposure_groups(self, owners: int) -> Groups | None:
        """One group of all where only the total matters."""
        return Groups.single(owners) if self.of_exposure and self.of_total else None

    @abstractmethod
    def curve(self, exposure: Array) -> Array:
        """v at each exposure."""

    @abstractmethod
    def curve_slope(self, exposure: Array) -> Array:
        """v' at each exposure."""

    def curve_curvature(self, exposure: Array) -> Array:
        """v'' at each exposure, by central differences unless a family knows better."""
        step = 1e-5 * np.maximum(1.0, np.abs(exposure))
        return (self.curve_slope(exposure + step) - self.curve_slope(np.maximum(exposure - step, 0.0))) / (
            exposure + step - np.maximum(exposure - step, 0.0)
        )

    @property
    def power_law(self) -> tuple[float, ...] | None:
        """Scale, exponent, offset, ceiling if v(x) = max(0, ceiling - scale (x + offset)^-exponent); else None."""
        return None

    @property
    def viable(self) -> float:
        """The exposure at which v leaves zero (0 where it is positive from the start)."""
        return 0.0

    def exposures(self, profiles: Array) -> Array:
        """sum_j W_ij s_j for many profiles, (k, n) -> (k, n).  Here all weights are one."""
        return np.broadcast_to(sum_last(profiles)[..., None], profiles.shape)

    def own_weights(self, owners: int) -> Array:
        """W_ii of every owner."""
        return np.broadcast_to(1.0, owners)

    def weight_matrix(self, owners: int) -> Array:
        """W_ij: what one unit of owner j's data adds to owner i's exposure."""
        return np.ones((owners, owners))

    def marginals(self, profile: Array) -> Array:
        """d a_i / d s_j = v'(exposure_i) W_ij."""
        profile = np.asarray(profile, dtype=float)
        return self.curve_slope(self.exposures(profile[None])[0])[:, None] * self.weight_matrix(len(profile))

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) at k profiles (k, n)."""
        exposures = self.exposures(np.asarray(profiles, dtype=float))
        if exposures.shape[-1] and not exposures.strides[-1]:  # the same to all
            return np.repeat(self.curve(exposures[..., :1]), exposures.shape[-1], axis=-1)
        return self.curve(exposures)

    def curves(self, profile: Array) -> Along | AlongOwn:
        """v(exposure from the others + own weight * own contribution)."""
        profile = np.asarray(profile, dtype=float)
        weights = np.broadcast_to(self.own_weights(profile.shape[-1]), profile.shape)
        if self.in_columns:
            family = mapped(self, lambda column: np.broadcast_to(column, profile.shape))
            return AlongOwn(family, self.from_others(profile), weights)
        return Along(self.curve, self.curve_slope, self.from_others(profile), weights)

    def from_others(self, profile: Array) -> Array:
        """sum_{j != i} W_ij s_j: the exposure to everybody else's data."""
        if self.of_total:
            return sum_of_others(profile)
        return np.maximum(self.exposures(profile[None])[0] - self.own_weights(len(profile)) * profile, 0.0)

    def kinks(self, profile: Array) -> Array:
        """The own contribution from which on the model is worth anything; none where the others' data suffice."""
        if np.all(self.viable <= 0):
            return np.empty((*np.shape(profile), 0))
        return self.meeting(profile, np.asarray(self.viable)[..., None])

    def meeting(self, profile: Array, exposures: Array) -> Array:
        """The own contributions (n, b) at which the exposure is each of these (b,); infinite where there is none."""
        along = self.curves(profile)
        return _needed(exposures, along.base[..., None], along.weight[..., None])

    def spillovers(self, profile: Array) -> Curve:
        """sum_{j != i} v(exposure of j from all but i + W_ji * own contribution)."""
        profile = np.asarray(profile, dtype=float)
        if self.of_total:  # all weights are one, whatever the number of owners
            return (profile.shape[-1] - 1.0) * self.curves(profile)
        weights = self.weight_matrix(len(profile))
        if np.all(weights == 1):
            return (len(profile) - 1.0) * self.curves(profile)
        return AlongEach(self.curve, self.curve_slope, *self._exposed_others(profile, weights))

    def spillover_kinks(self, profile: Array) -> Array:
        """The own contributions from which on the model is worth anything to one of the others."""
        if self.viable <= 0:
            return np.empty((len(profile), 0))
        if self.of_total:
            return self.kinks(profile)
        return _needed(self.viable, *self._exposed_others(profile, self.weight_matrix(len(profile))))

    def restrict(self, rows: Rows) -> Accuracy:
        """The same curve with fewer owners; itself where only the total matters."""
        if not self.of_exposure:
            return super().restrict(rows)
        return self if self.of_total else RestrictedExposure(self, FrozenArray(np.asarray(rows, dtype=np.intp)))

    def _exposed_others(self, profile: Array, weights: Array) -> tuple[Array, Array]:
        """Exposures (n, n - 1) of the others while the own contribution is 0, and what a unit of it adds to them."""
        check_pairs(f"what {type(self).__name__} brings the others", len(profile), "take fewer owners or PowerLaw")
        others = ~np.eye(len(profile), dtype=bool)
        added = weights.T[others].reshape(len(profile), -1)
        theirs = np.broadcast_to(self.exposures(profile[None])[0], others.shape)[others].reshape(added.shape)
        return np.maximum(theirs - added * profile[:, None], 0.0), added


@dataclass(frozen=True)
class Probed(Curve):
    """Accuracy curves by asking the oracle at changed profiles.

    Slopes are central differences whose two points stay between the same two `kinks` (n, b) of the owner.
    """

    oracle: Accuracy
    profile: Array
    rows: Rows
    kinks: Array

    def value(self, x: Array) -> Array:
        return self.ask(self.oracle.values, x)

    def slope(self, x: Array) -> Array:
        step = 1e-6 * np.maximum(np.abs(x), 1e-2)
        low, high = np.maximum(x - step, 0.0), x + step
        for kink in self.kinks.T:
            # At the kink itself the accuracy may still be that of the piece before.
            kink = align_rows(kink, x)
            low, high = (
                np.where(kink <= x, np.maximum(low, kink + 1e-3 * step), low),
                np.where(kink > x, np.minimum(high, kink - 1e-3 * step), high),
            )
        width = np.maximum(high - low, 1e-3 * step)
        return (self.value(low + width) - self.value(low)) / width

    def ask(self, question: Callable[[Array], Array], x: Array) -> Array:
        """Each owner's own answer to a question about profiles, (k, n) -> (k, n), at its contributions x."""
        profiles, turns, owner = self._trials(x.reshape(len(x), -1))
        return question(profiles)[turns, owner].reshape(x.shape)

    def _trials(self, trials: Array) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
        """One profile per trial contribution, its number, and whose it is."""
        what = f"{type(self.oracle).__name__}, asked at one profile per owner,"
        check_pairs(what, len(self.profile), "give it curves of its own or take fewer owners")
        turns, owner = np.arange(trials.size), np.repeat(np.asarray(self.rows), trials.shape[1])
        profiles = np.repeat(self.profile[None], trials.size, axis=0)
        profiles[turns, owner] = trials.ravel()
        return profiles, turns, owner

    def take(self, rows: Rows) -> Probed:
        return replace(self, rows=np.asarray(self.rows)[rows], kinks=self.kinks[rows])


@dataclass(frozen=True)
class ProbedOthers(Probed):
    """The sum of all accuracies but the own one, by asking the oracle at changed profiles."""

    def ask(self, question: Callable[[Array], Array], x: Array) -> Array:
        """The others' answers together."""
        profiles, turns, owner = self._trials(x.reshape(len(x), -1))
        answers = np.array(question(profiles))
        answers[turns, owner] = 0.0
        return sum_last(answers).reshape(x.shape)


@dataclass(frozen=True)
class Restricted(Accuracy):
    """An oracle in which everybody outside `rows` contributes nothing and is not asked.

    The full oracle is asked about `width` owners; None: about as many as it is made for, or as `rows` name.
    """

    full: Accuracy
    rows: FrozenArray
    width: int | None = None
    padded = True
    # Whoever is left out stands beside it at 0: what rests on sums over all owners does not carry over.
    of_exposure = False
    of_exponentials = False
    power_density = None
    stacks = False

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.rows)

    @cached_property
    def public(self) -> Accuracy:
        """What the full oracle announces, restricted too; always the same object, so that offers can stand."""
        return self if self.full.public is self.full else self.full.public.restrict(self.rows.array)

    def among(self, owners: int) -> Restricted:
        """The full oracle is asked about this many owners."""
        return replace(self, width=owners)

    def values(self, profiles: Array) -> Array:
        """Accuracies of the owners in `rows`, the others at zero."""
        return self.full.values(self._embed(profiles))[:, self.rows.array]

    def curves(self, profile: Array) -> Curve:
        """The full oracle's curves of the owners in `rows`."""
        return self.full.curves(self._embed(profile)).take(self.rows.array)

    def kinks(self, profile: Array) -> Array:
        """The full oracle's kinks of the owners in `rows`."""
        return self.full.kinks(self._embed(profile))[self.rows.array]

    def marginals(self, profile: Array) -> Array:
        """The full oracle's marginals among the owners in `rows`."""
        return self.full.marginals(self._embed(profile))[np.ix_(self.rows.array, self.rows.array)]

    def own_jumps(self, owners: int) -> Array:
        """Those of the full oracle."""
        return self.full.own_jumps(self._width)[self.rows.array]

    @property
    def _width(self) -> int:
        """Of how many owners the full oracle is asked."""
        return self.full.owners or self.width or int(np.max(self.rows.array, initial=-1)) + 1

    def _embed(self, profiles: Array) -> Array:
        """Profiles of all owners, zero outside `rows`."""
        embedded = np.zeros((*np.shape(profiles)[:-1], self._width))
        embedded[..., self.rows.array] = profiles
        return embedded


forward(Restricted, Accuracy, "full", methods=None)
forward(Restricted, Oracle, "full", methods=None)


@dataclass(frozen=True)
class RestrictedExposure(Restricted, Exposure):  # type: ignore[misc]
    """The same curve of weighted sums, from which the weights of everybody outside `rows` are left out."""

    full: Exposure
    of_exposure = True
    of_total = False

    def curve(self, exposure: Array) -> Array:
        """v of the full oracle."""
        return self.full.curve(exposure)

    def curve_slope(self, exposure: Array) -> Array:
        """v' of the full oracle."""
        return self.full.curve_slope(exposure)

    def curve_curvature(self, exposure: Array) -> Array:
        """v'' of the full oracle."""
        return self.full.curve_curvature(exposure)

    @property
    def viable(self) -> float:
        """As of the full oracle."""
        return self.full.viable

    def exposures(self, profiles: Array) -> Array:
        """Those of the owners in `rows`, the others at zero."""
        return self.full.exposures(self._embed(profiles))[..., self.rows.array]

    def own_weights(self, owners: int) -> Array:
        """W_ii of the owners in `rows`."""
        return np.asarray(self.full.own_weights(self._width))[self.rows.array]

    def weight_matrix(self, owners: int) -> Array:
        """W_ij among the owners in `rows`."""
        return self.full.weight_matrix(self._width)[np.ix_(self.rows.array, self.rows.array)]


def _needed(exposure: Array | float, base: Array, weight: Array) -> Array:
    """The own contribution that brings an exposure from its base to this one; infinite where none does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (exposure - base) / weight
    return np.where(needed > 0, needed, np.inf)
