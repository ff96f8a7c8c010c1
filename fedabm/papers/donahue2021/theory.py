"""Donahue and Kleinberg 2021: errors and stable partitions of owners who estimate means, rows S01 to S03."""

from __future__ import annotations

from fedabm.games.accuracy import MeanEstimation
from fedabm.games.accuracy.mean_estimation import Sharing
from fedabm.games.curves import Array
from fedabm.papers.ledger.rows import Budget, Finding, holds, row
from fedabm.papers.ledger.trials import agree, numbers
from fedabm.solving import HedonicGame
from fedabm.solving.coalitions import Partition

#: two owners of five samples and one of 25
_SIZES = (5, 5, 25)
_PAIR: Partition = ((0, 1), (2,))
_ALL: Partition = ((0, 1, 2),)
_SMALL_AND_LARGE: Partition = ((0, 2), (1,))


def _game(sharing: Sharing = "uniform") -> HedonicGame:
    """Mean estimation with mu_e = 10 and sigma^2 = 1."""
    return HedonicGame.of_accuracy(MeanEstimation(10.0, 1.0, sharing), _SIZES)


def _errors(game: HedonicGame, partition: Partition) -> Array:
    """The expected squared error of each owner, from a = 1 / (1 + err)."""
    return 1.0 / game.utilities(partition) - 1.0


@row(
    "S01",
    "Uniform federation of (5, 5, 25) samples: errors by coalition",
    published="pair of fives 1.5 each; all three 1.551 and 0.408; {5, 25} 1.722 and 0.389; 25 alone 0.4",
    preset="fedabm list mean_estimation",
)
def uniform(budget: Budget) -> Finding:
    """Each error to the printed number of decimals."""
    game = _game()
    pair, together, unlike = (_errors(game, one) for one in (_PAIR, _ALL, _SMALL_AND_LARGE))
    right = (
        agree(pair, (1.5, 1.5, 0.4), 3)
        and agree(together[[0, 2]], (1.551, 0.408), 3)
        and agree(unlike[[0, 2]], (1.722, 0.389), 3)
    )
    ours = f"pair {numbers(pair, 3)}, all {numbers(together, 3)}, small and large {numbers(unlike[[0, 2]], 3)}"
    return holds(ours, right)


@row(
    "S02",
    "Uniform federation of (5, 5, 25) samples: which partitions are stable",
    published="{5, 5}, {25} alone is core stable, and it alone is individually stable",
    preset="fedabm list mean_estimation",
)
def stable_partitions(budget: Budget) -> Finding:
    """All five partitions of three owners are tried against all groups and all single moves."""
    game = _game()
    core, single = game.stable("core"), game.stable("individual")
    return holds(f"core {_named(core)}; individually {_named(single)}", core == single == [_PAIR])


@row(
    "S03",
    "Coarse and fine federation of (5, 5, 25) samples: errors of all three together, and whether that is stable",
    published="coarse (1.014, 0.345), fine (0.989, 0.345); the grand coalition is stable",
    preset="fedabm list mean_estimation",
)
def weighted(budget: Budget) -> Finding:
    """Errors at the best weights, and stability against groups and single moves."""
    printed: dict[Sharing, tuple[float, ...]] = {"coarse": (1.014, 0.345), "fine": (0.989, 0.345)}
    games = {sharing: _game(sharing) for sharing in printed}
    errors = {sharing: _errors(game, _ALL)[[0, 2]] for sharing, game in games.items()}
    right = all(agree(errors[sharing], values, 3) for sharing, values in printed.items())
    stays = all(_ALL in game.stable(kind) for game in games.values() for kind in ("core", "individual"))
    stable = "stable" if stays else "not stable"
    ours = f"coarse {numbers(errors['coarse'], 3)}, fine {numbers(errors['fine'], 3)}; {stable}"
    return holds(ours, right and stays)


def _named(found: list[Partition]) -> str:
    """Partitions by the sizes of their owners' data."""
    sets = [", ".join(f"{{{', '.join(str(_SIZES[i]) for i in group)}}}" for group in one) for one in found]
    return " or ".join(sets) or "none"
