"""What an oracle of accuracies must offer, closed form or trained.

An oracle maps a profile of contributions to what the shared model is worth to each owner, a_i(s).  Mechanisms,
strategies and the solver only ever ask an oracle:

- `values(profiles)`: accuracies for many profiles at once, (k, n) -> (k, n);
- `curves(profile)`: each owner's accuracy as a function of its own contribution, the others' fixed;
- `spillovers(profile)`: what the others' accuracies sum to, as a function of the own contribution;
- `marginals(profile)`: the full matrix d a_i / d s_j, for small games.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_pairs
from fedabm.common.others import sum_of_others
from fedabm.common.rowwise import sum_last
from fedabm.common.table import Table
from fedabm.games.curves import Along, AlongEach, Array, Curve, Rows, beside
from fedabm.games.sending import Sending

__all__ = ["Accuracy", "Exposure", "Probed"]


class Accuracy(ABC):
    """Accuracies a_i(s) of all owners at a profile s of contributions."""

    #: a_i is concave in the own contribution between the kinks
    concave: bool = False
    #: a_i does not decrease in any contribution
    monotone: bool = False
    #: says how a_i changes with the own contribution; a model in training only shows what it is worth now
    tells: bool = True
    #: every answer takes training models, so that none is asked for without need
    costly: bool = False
    #: the protocol has fixed what owners contribute, and only the weights are trained from now on
    frozen: bool = False
    #: nothing but the total counts, and no step changes anything: profiles (runs, n) serve many runs at once
    stacks: bool = False
    #: (n,) what every owner's own training in this step gained it on its own test part; None: nobody measured it
    progress: Array | None = None

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
        return Restricted(self, Table(np.asarray(rows, dtype=np.intp)))

    def advance(self, profile: Array) -> Accuracy:
        """The accuracies after one more step of training on these contributions; closed forms stay as they are."""
        return self

    def train(self, sending: Sending) -> tuple[Accuracy, NDArray[np.bool_]]:
        """The accuracies after one round of the federation, and whose model update was unusable and dropped.

        Closed forms know no updates.  They advance on the contributions that were announced before the owners decided,
        so that weights and contributions take their steps together (Doshi et al. 2025, eq. 3 and 4).
        """
        return self.advance(sending.before.contribution), np.zeros(len(sending.now.contribution), dtype=bool)

    def tried(self, sending: Sending) -> Accuracy:
        """The accuracies after owners trained a step for themselves, to measure `progress`, and sent nothing."""
        return self

    def sent(self, rows: Rows, reports: Any, *, with_losses: bool = False) -> Any:
        """What the owners in `rows` sent beside their `reports` in this round; None where all share one model."""
        return None

    def deliver(self, rows: Rows, exchange: Any) -> Accuracy:
        """After the server has sent the owners in `rows` what the mechanism decided; closed forms stay as they are."""
        return self

    def hand_out(self, rows: Rows, contributions: Array, promised: Array) -> Array:
        """What the models are really worth that the owners in `rows` are handed, if each is `promised` this much.

        `contributions` are everybody's.  Closed forms keep promises to the digit; an oracle that trains hands out
        models that are really worse.
        """
        return promised

    def seeded(self, seed: int) -> Accuracy:
        """The accuracies in a run with this seed; closed forms do not depend on chance."""
        return self

    @property
    def public(self) -> Accuracy:
        """What the server announces and everybody reckons with: by default the accuracies themselves."""
        return self

    def at_zero(self, owners: int) -> Array:
        """What each owner gets from an empty coalition, a_i(0)."""
        return self.values(np.zeros((1, owners)))[0]


class Exposure(Accuracy):
    """Accuracies that are one common curve of a weighted sum: a_i(s) = v(sum_j W_ij s_j)."""

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

    def curves(self, profile: Array) -> Along:
        """v(exposure from the others + own weight * own contribution)."""
        profile = np.asarray(profile, dtype=float)
        weights = np.broadcast_to(self.own_weights(profile.shape[-1]), profile.shape)
        return Along(self.curve, self.curve_slope, self.from_others(profile), weights)

    def from_others(self, profile: Array) -> Array:
        """sum_{j != i} W_ij s_j: the exposure to everybody else's data."""
        if type(self).exposures is Exposure.exposures:
            return sum_of_others(profile)
        return np.maximum(self.exposures(profile[None])[0] - self.own_weights(len(profile)) * profile, 0.0)

    def kinks(self, profile: Array) -> Array:
        """The own contribution from which on the model is worth anything; none where the others' data suffice."""
        if self.viable <= 0:
            return np.empty((*np.shape(profile), 0))
        return self.meeting(profile, np.array([self.viable]))

    def meeting(self, profile: Array, exposures: Array) -> Array:
        """The own contributions (n, b) at which the exposure is each of these (b,); infinite where there is none."""
        along = self.curves(profile)
        return _needed(exposures, along.base[..., None], along.weight[..., None])

    def spillovers(self, profile: Array) -> Curve:
        """sum_{j != i} v(exposure of j from all but i + W_ji * own contribution)."""
        profile = np.asarray(profile, dtype=float)
        if type(self).weight_matrix is Exposure.weight_matrix:  # all ones, whatever the number of owners
            return (profile.shape[-1] - 1.0) * self.curves(profile)
        weights = self.weight_matrix(len(profile))
        if np.all(weights == 1):
            return (len(profile) - 1.0) * self.curves(profile)
        return AlongEach(self.curve, self.curve_slope, *self._exposed_others(profile, weights))

    def spillover_kinks(self, profile: Array) -> Array:
        """The own contributions from which on the model is worth anything to one of the others."""
        if self.viable <= 0:
            return np.empty((len(profile), 0))
        if type(self).weight_matrix is Exposure.weight_matrix:
            return self.kinks(profile)
        return _needed(self.viable, *self._exposed_others(profile, self.weight_matrix(len(profile))))

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
            kink = beside(kink, x)
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
    """An oracle in which everybody outside `rows` contributes nothing and is not asked."""

    full: Accuracy
    rows: Table

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.rows)

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """As the full oracle."""
        return self.full.concave

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As the full oracle."""
        return self.full.monotone

    @property
    def tells(self) -> bool:  # type: ignore[override]
        """As the full oracle."""
        return self.full.tells

    @property
    def costly(self) -> bool:  # type: ignore[override]
        """As the full oracle."""
        return self.full.costly

    @cached_property
    def public(self) -> Accuracy:
        """What the full oracle announces, restricted too; always the same object, so that offers can stand."""
        return self if self.full.public is self.full else self.full.public.restrict(self.rows.array)

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

    def _embed(self, profiles: Array) -> Array:
        """Profiles of all owners, zero outside `rows`."""
        width = getattr(self.full, "owners", None) or int(np.max(self.rows.array, initial=-1)) + 1
        embedded = np.zeros((*np.shape(profiles)[:-1], width))
        embedded[..., self.rows.array] = profiles
        return embedded


def _needed(exposure: Array | float, base: Array, weight: Array) -> Array:
    """The own contribution that brings an exposure from its base to this one; infinite where none does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (exposure - base) / weight
    return np.where(needed > 0, needed, np.inf)
