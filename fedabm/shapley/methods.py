"""Shapley shares of the sum of all owners' accuracies, by the best method that applies."""

from __future__ import annotations

from typing import TypedDict, Unpack

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive, check_range, finite_vector, nearest
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Curve, Line
from fedabm.shapley import counting, enumeration, quadrature
from fedabm.shapley.curves import coalition_curve, mixture_curve
from fedabm.shapley.monte_carlo import Orders, sampled_curve, sampled_shares
from fedabm.shapley.shared import shared_curve
from fedabm.shapley.shares import Shares

__all__ = [
    "METHODS",
    "Options",
    "choose_method",
    "shapley",
    "shapley_curves",
    "shapley_jacobian",
    "shapley_marginals",
    "shapley_potential",
]

METHODS = ("linear", "quadrature", "counting", "enumeration", "monte_carlo")

_NEEDS = {
    "linear": "an accuracy that is linear in all contributions, as random discovery",
    "quadrature": "a power law without minimum viability (plain or group-weighted) or random coverage",
    "counting": "an accuracy of the total only and few different contributions",
    "enumeration": f"at most {enumeration.MOST_OWNERS} owners",
}


class Options(TypedDict, total=False):
    """How shares are computed: the first four steer Monte Carlo, the last is the quadrature's relative error.

    permutations  how many orders are drawn (by default as many as give equal owners' shares an error of 2%)
    error         instead of them, the largest standard error of a share, relative to the largest share: orders are
                  added until it is met
    rng           where they are drawn from (by default the stream of seed 0)
    antithetic    each order together with its reverse
    precision     1e-15 unless stated
    """

    permutations: int | None
    rng: np.random.Generator | None
    antithetic: bool
    error: float | None
    precision: float


def shapley(accuracy: Accuracy, profile: Array, method: str = "auto", **options: Unpack[Options]) -> Shares:
    """Shapley shares phi_i of A(s) = sum_i a_i(s) over what an empty coalition gets.

        phi_i = sum_{X without i} |X|! (n - |X| - 1)! / n! (A(s_X, s_i) - A(s_X)),     sum_i phi_i = A(s) - A(0)

    Murhekar et al. 2025, eq. (3).  `method` "auto" takes an exact one if there is one and Monte Carlo otherwise; the
    answer's `.method` says which, and that of Monte Carlo carries `.standard_errors`.  `options` are permutations, rng,
    antithetic, error and precision, see `Options`.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> shares = shapley(PowerLaw(), np.array([3.98115436, 2.46263961]))
    >>> print(shares.round(6), shares.method)
    [0.9537  0.77762] quadrature

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        The contribution of each owner, shape (owners,).
    method : str, optional
        How shares are found: "auto", "enumeration", "quadrature", "linear", "counting" or "monte carlo".
    **options : Unpack[Options]
        Permutations, rng, antithetic, error and precision of the method.

    Returns
    -------
    Shares
        Shares, shape (owners,), with the method and, where sampled, standard errors.
    """
    inner, part = _unvalued(accuracy, np.size(profile))
    if inner is not accuracy and method != "monte_carlo":
        return shapley(inner, profile, method, **options).times(part)
    profile, method = _checked(accuracy, profile, method, once=True)
    orders, precision = _read(options, len(profile))
    if method == "quadrature":
        if (shared := shared_curve(accuracy, profile, precision)) is not None:
            return Shares(shared.value(profile), method)
        mixture = accuracy.exponentials(profile, precision)
        return Shares(quadrature.shares(mixture, profile, precision), method)
    if method == "enumeration":
        return Shares(enumeration.shares(accuracy, profile), method)
    if method == "counting" and _is_long(profile):
        return Shares(counting.shares(accuracy.as_total(), profile), method)  # type: ignore[arg-type]
    if method == "monte_carlo":
        return sampled_shares(accuracy, profile, orders)
    return Shares(shapley_curves(accuracy, profile, method).value(profile), method)


def shapley_marginals(accuracy: Accuracy, profile: Array, method: str = "auto", **options: Unpack[Options]) -> Shares:
    """d phi_i / d s_i of every owner; arguments as for `shapley`.

    Slopes are exact, but for accuracies that are no curve of exposures enumeration and Monte Carlo take differences.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        The contribution of each owner, shape (owners,).
    method : str, optional
        How shares are found: "auto", "enumeration", "quadrature", "linear", "counting" or "monte carlo".
    **options : Unpack[Options]
        As for `shapley`.

    Returns
    -------
    Shares
        Slopes of the shares, shape (owners,).
    """
    inner, part = _unvalued(accuracy, np.size(profile))
    if inner is not accuracy and method != "monte_carlo":
        return shapley_marginals(inner, profile, method, **options).times(part)
    profile, method = _checked(accuracy, profile, method, once=True)
    orders, precision = _read(options, len(profile))
    if method == "quadrature":
        if (shared := shared_curve(accuracy, profile, precision)) is not None:
            return Shares(shared.slope(profile), method)
        mixture = accuracy.exponentials(profile, precision)
        return Shares(quadrature.marginals(mixture, profile, precision), method)
    if method == "monte_carlo":
        return sampled_shares(accuracy, profile, orders, slopes=True)

    def slopes() -> Array:
        return shapley_curves(accuracy, profile, method).slope(profile)

    return Shares(enumeration.marginals(accuracy, profile, slopes) if method == "enumeration" else slopes(), method)


def shapley_curves(
    accuracy: Accuracy, profile: Array, method: str = "auto", *, reach: Array | None = None, **options: Unpack[Options]
) -> Curve:
    """phi_i as a function of owner i's own contribution, the others at `profile`.

    `reach` is the largest own contribution that will be asked for (by default that of the profile); beyond it the
    quadrature slowly loses relative precision.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        The contribution of each owner, shape (owners,).
    method : str, optional
        How shares are found: "auto", "enumeration", "quadrature", "linear", "counting" or "monte carlo".
    reach : Array | None, optional
        The largest own contribution that will be asked for; by default that of the profile.
    **options : Unpack[Options]
        As for `shapley`.

    Returns
    -------
    Curve
        Shares along the own contribution of each owner.
    """
    profile, method = _checked(accuracy, profile, method)
    inner, part = _unvalued(accuracy, np.size(profile))
    if inner is not accuracy and method != "monte_carlo":
        return part * shapley_curves(inner, profile, method, reach=reach, **options)
    orders, precision = _read(options, len(profile))
    if method == "linear":
        return Line(np.zeros(len(profile)), accuracy.marginals(profile).sum(axis=0))
    if method == "quadrature":
        if (shared := shared_curve(accuracy, profile, precision, reach)) is not None:
            return shared
        mixture = accuracy.exponentials(profile, precision, reach)
        return mixture_curve(mixture, profile, precision)
    if method == "counting":
        return counting.counting_curve(accuracy.as_total(), profile, reach)  # type: ignore[arg-type]
    if method == "enumeration":
        return coalition_curve(accuracy, profile, enumeration.EveryCoalition(len(profile)))
    return sampled_curve(accuracy, profile, orders)


def shapley_jacobian(accuracy: Accuracy, profile: Array, precision: float = 1e-15) -> Array:
    """d(d phi_i / d s_i) / d s_j, (n, n), where quadrature, linearity or all subset sums give it exactly.

    Newton's method is content with a `precision` of 1e-8, which is several times faster.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        The contribution of each owner, shape (owners,).
    precision : float, optional
        Relative precision of the quadrature.

    Returns
    -------
    Array
        Shape (owners, owners).
    """
    inner, part = _unvalued(accuracy, np.size(profile))
    if inner is not accuracy:
        return part * shapley_jacobian(inner, profile, precision)
    fitting = (name for name in ("linear", "quadrature", "counting") if _applies(name, accuracy, profile))
    profile, method = _checked(accuracy, profile, next(fitting, "quadrature"))
    if method == "counting":
        return counting.curvatures(accuracy.as_total(), profile)  # type: ignore[arg-type]
    if method == "linear":
        return np.zeros((len(profile), len(profile)))
    mixture = accuracy.exponentials(profile, precision, order=2)
    return quadrature.jacobian(mixture, profile, precision)


def shapley_potential(accuracy: Accuracy, profile: Array) -> float:
    """The number whose gains are the shares: P(s) - P(s without i) = phi_i(s), so d P / d s_i = d phi_i / d s_i.

        P(s) = sum_{X not empty} (|X| - 1)! (n - |X|)! / n! (A(s_X) - A(0))

    S. Hart, A. Mas-Colell (1989), Potential, value, and consistency, Econometrica 57(3).  By linearity, quadrature or
    enumeration, whichever applies.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> both, alone = (shapley_potential(PowerLaw(), np.array(s)) for s in ([3.0, 1.0], [3.0, 0.0]))
    >>> bool(abs(both - alone - shapley(PowerLaw(), np.array([3.0, 1.0]))[1]) < 1e-14)
    True

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        The contribution of each owner, shape (owners,).

    Returns
    -------
    float
        The potential P(s).
    """
    fitting = (name for name in ("linear", "quadrature", "enumeration") if _applies(name, accuracy, profile))
    profile, method = _checked(accuracy, profile, next(fitting, "enumeration"))
    if method == "quadrature":
        return quadrature.potential(accuracy.exponentials(profile), profile)
    if method == "enumeration":
        return enumeration.potential(accuracy, profile)
    return float(np.sum(shapley(accuracy, profile, method)))


def _unvalued(accuracy: Accuracy, owners: int) -> tuple[Accuracy, float]:
    """Where owners value a common curve differently, that curve and the mean of their values; else itself.

    All coalitions are then worth as many times what they are worth where everybody values it at one.
    """
    check_kind("accuracy", accuracy, Accuracy)
    known = None if accuracy.as_total() is not None else accuracy.as_common(owners)
    return (accuracy, 1.0) if known is None else (known[0], float(np.mean(known[1])))


def choose_method(accuracy: Accuracy, profile: Array) -> str:
    """What "auto" stands for: the first exact method that applies, Monte Carlo if there is none.

    Curves over all coalitions are for up to 12 owners; `shapley` looks at those of up to 16 at the one profile.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        The contribution of each owner, shape (owners,).

    Returns
    -------
    str
        The name of the method.
    """
    if len(profile) > 12 and not _applies("counting", accuracy, profile):
        return next((name for name in ("linear", "quadrature") if _applies(name, accuracy, profile)), "monte_carlo")
    return next(name for name in METHODS if _applies(name, accuracy, profile))


def _is_long(profile: Array) -> bool:
    """Whether this many contributions differ, all of them, that subset sums are looked at for all owners at once."""
    positive = profile[profile > 0]
    return len(positive) > enumeration.MOST_OWNERS and len(np.unique(positive)) == len(positive)


def _applies(method: str, accuracy: Accuracy, profile: Array) -> bool:
    if method == "linear":
        return accuracy.traits.linear_in_all
    if method == "quadrature":
        return accuracy.traits.of_exponentials
    if method == "counting":
        return accuracy.as_total() is not None and counting.is_short(profile)
    return method == "monte_carlo" or len(profile) <= enumeration.MOST_OWNERS


def _read(options: Options, owners: int) -> tuple[Orders, float]:
    """The orders that Monte Carlo would draw, and the precision of the quadrature."""
    known = {**options}
    unknown = [name for name in known if name not in Options.__annotations__]
    if unknown:
        raise InputError(
            f"Shapley shares have no option {unknown[0]!r}; {nearest(unknown[0], Options.__annotations__)}"
        )
    precision = float(known.pop("precision", 1e-15))  # type: ignore[arg-type]
    check_range("precision", precision, 1e-100, 0.1)
    if known.get("permutations") is not None and known.get("error") is not None:
        raise InputError("permutations and an error of sampled shares were both given; give one of them")
    return Orders(owners, **known), precision  # type: ignore[arg-type]


def _checked(accuracy: Accuracy, profile: Array, method: str, once: bool = False) -> tuple[Array, str]:
    """A valid profile and a method that applies to it; `once`: at this profile only, where looking is cheap."""
    check_kind("accuracy", accuracy, Accuracy)
    profile = finite_vector("contributions", profile)
    check_positive("contributions", profile, zero=True)
    known = accuracy.owners
    if not len(profile) or (known is not None and known != len(profile)):
        raise InputError(f"{len(profile)} contributions but {known or 'no'} owners; give one contribution per owner")
    if method == "auto":
        method = choose_method(accuracy, profile)
        few = once and not accuracy.costly and len(profile) <= enumeration.MOST_OWNERS
        return profile, "enumeration" if few and method == "monte_carlo" else method
    if method not in METHODS:
        raise InputError(f"unknown Shapley method {method!r}; {nearest(method, ('auto', *METHODS))}")
    if not _applies(method, accuracy, profile):
        raise InputError(
            f"Shapley method {method!r} needs {_NEEDS[method]}, got {type(accuracy).__name__} with {len(profile)} "
            f"owners; use {choose_method(accuracy, profile)!r} or 'auto'"
        )
    return profile, method
