"""Which random games have a finite certificate in the checkout that PYTHONPATH names: a line of JSON for each.

It is given to the interpreter by its path, and knows only what both checkouts of `tests.fuzz.proven` have.  Without
words it prints the names of all mechanisms that are drawn; `NAMES FIRST GAMES` draws from these names only, so that
both draw the same games.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings

import numpy as np

from fedabm import InputError
from tests.fuzz import games


def certified(number: int) -> tuple[str, bool | str]:
    """What a game is, and whether the gains of all owners have a bound, or why nobody asks for one."""
    game = games.draw_game(np.random.default_rng(number))
    what = f"{type(game.mechanism).__name__} {type(game.accuracy).__name__} {game.capacities.tolist()}"
    if getattr(game.mechanism, "method", "") == "monte_carlo":
        return what, "its orders are sampled"
    shares = np.random.default_rng([number, 1]).random(game.owners)
    with contextlib.suppress(InputError):
        return what, bool(np.all(np.isfinite(game.gains(shares * game.capacities))))
    return what, "refused"


def main(words: list[str]) -> None:
    """Print names or games."""
    if not words:
        print(json.dumps(sorted(games.MECHANISMS | games.LATER)))
        return
    names, first, count = json.loads(words[0]), int(words[1]), int(words[2])
    for rules in (games.MECHANISMS, games.LATER):
        for name in set(rules) - set(names):
            del rules[name]
    warnings.simplefilter("ignore")
    for number in range(first, first + count):
        print(json.dumps(certified(number)))


if __name__ == "__main__":
    main(sys.argv[1:])
