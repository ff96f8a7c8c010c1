"""Empirical games for other solvers: Nashpy for two owners, Gambit's .nfg for any number.

from fedabm.tournament import play
tournament = play(scenario, [FreeRider(), Honest()])
list(to_nashpy(tournament.game).support_enumeration())
write_nfg(tournament.game, "dilemma.nfg")            # gambit-enumpure dilemma.nfg
"""

from __future__ import annotations

import itertools
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, MissingExtraError
from fedabm.common.files import as_path, write
from fedabm.tournament.empirical import EmpiricalGame

__all__ = ["payoff_table", "to_nashpy", "to_nfg", "write_nfg"]

#: with more profiles than these a file is no way to pass a game on
MOST = 1_000_000


def payoff_table(game: EmpiricalGame) -> Array:
    """What every owner earns in every profile: (K, ..., K, N), the strategies of owners 1 .. N, then whose payoff.

    >>> game = EmpiricalGame(("hawk", "dove"), 2, [[-1.0, np.nan], [2.0, 0.0], [np.nan, 1.0]])
    >>> payoff_table(game)[0, 1].tolist()
    [2.0, 0.0]

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.

    Returns
    -------
    Array
        Shape (K, ..., K, N): payoff of each of N owners in each profile of strategies.
    """
    kinds, owners = len(game.strategies), game.owners
    if kinds**owners > MOST:
        raise InputError(f"{kinds} strategies of {owners} owners are {kinds**owners:,} profiles; take fewer owners")
    table = np.empty((kinds,) * owners + (owners,))
    for profile in itertools.product(range(kinds), repeat=owners):
        counts = np.bincount(profile, minlength=kinds).tolist()
        table[profile] = [game.payoff(counts, strategy) for strategy in profile]
    return table


def to_nashpy(game: EmpiricalGame) -> Any:
    """The game of two owners as a `nashpy.Game`; Nashpy knows no more than two.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.

    Returns
    -------
    Any
        A `nashpy.Game`.
    """
    if game.owners != 2:
        raise InputError(f"Nashpy solves games of two, got {game.owners} owners; write_nfg gives it to Gambit")
    try:
        nashpy = import_module("nashpy")
    except ImportError:
        raise MissingExtraError("this needs Nashpy; install it with: pip install 'fedabm[nashpy]'") from None
    table = payoff_table(game)
    return nashpy.Game(table[..., 0], table[..., 1])


def to_nfg(game: EmpiricalGame, title: str = "an empirical game of fedabm") -> str:
    """The game in Gambit's format: one line per profile, the first owner's strategy changing fastest.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    title : str, optional
        The first line of the file.

    Returns
    -------
    str
        The text.
    """
    owners, table = game.owners, payoff_table(game)
    players = " ".join(_quoted(f"owner {k + 1}") for k in range(owners))
    names = " ".join(map(_quoted, game.strategies))
    head = f"NFG 1 R {_quoted(title)} {{ {players} }}\n\n{{ " + f"{{ {names} }}\n" * owners + '}\n""\n\n'
    rows = np.moveaxis(table, -1, 0).reshape(owners, -1, order="F").T
    return head + "\n".join(" ".join(repr(float(number)) for number in row) for row in rows) + "\n"


def write_nfg(game: EmpiricalGame, path: str | Path, title: str = "an empirical game of fedabm") -> Path:
    """Write that file.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    path : str | Path
        The file.
    title : str, optional
        Its first line.

    Returns
    -------
    Path
        The file.
    """
    return write(as_path("the file of a game", path), to_nfg(game, title))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
