"""As many games have a finite certificate as in an older commit: the same random games, in both.

    python -m tests.fuzz.proven 026ca4a --games 5000

The older commit is checked out beside this one, and both draw games of the mechanisms that both have, at random
profiles.  Exit code 1 if the share of games in which the gains of all owners are bounded is lower than it was.  Games
whose Shapley orders are sampled are left out: what 026ca4a certified there was the sample and not the rule.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.checkouts import ROOT, older, said_in

__all__ = ["Found", "compared", "main"]

_GAMES = Path(__file__).with_name("proven_games.py")
#: games in one process
_AT_ONCE = 500

#: what a game is, and whether its gains are bounded, or why nobody asks
Found = tuple[str, bool | str]


def found_in(checkout: Path, names: list[str], games: int) -> Iterator[Found]:
    """The games of one checkout, in order."""
    for first in range(0, games, _AT_ONCE):
        said = said_in(checkout, _GAMES, json.dumps(names), str(first), str(min(_AT_ONCE, games - first)))
        for line in said.splitlines():
            what, bounded = json.loads(line)
            yield what, bounded


def compared(new: list[Found], old: list[Found]) -> tuple[Counter[str], list[str]]:
    """Counts over games that are the same in both, and which of them had a certificate once and have none now."""
    kinds, lost = Counter[str](), []
    for number, ((what, now), (before, then)) in enumerate(zip(new, old, strict=True)):
        if what != before:
            kinds["drawn otherwise"] += 1
        elif isinstance(now, str) or isinstance(then, str):
            kinds[f"left out: {now} now, {then} then" if now != then else f"left out: {now}"] += 1
        else:
            kinds["the same"] += 1
            kinds["bounded now"] += now
            kinds["bounded then"] += then
            if then and not now:
                lost.append(f"game {number}: {what}")
    return kinds, lost


def main() -> int:
    """Print both shares; the exit code says whether the new one is lower."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", help="the older one, of this repository")
    parser.add_argument("--games", type=int, default=5000)
    options = parser.parse_args()
    with older(options.commit) as old:
        known = [set(json.loads(said_in(place, _GAMES))) for place in (ROOT, old)]
        names = sorted(known[0] & known[1])
        kinds, lost = compared(*(list(found_in(place, names, options.games)) for place in (ROOT, old)))
    for what in lost[:10]:
        print(f"    no bound any more: {what}")
    for kind, count in sorted(kinds.items()):
        print(f"{count:7d}  {kind}")
    now, then = (100.0 * kinds[f"bounded {when}"] / max(kinds["the same"], 1) for when in ("now", "then"))
    print(f"{now:.2f}% of {kinds['the same']} games have a finite certificate, {then:.2f}% had one in {options.commit}")
    return 1 if now < then or not kinds["the same"] else 0


if __name__ == "__main__":
    sys.exit(main())
