"""One round of the engine of another checkout per line on standard input; PYTHONPATH says which, see `training`.

Argument: the name of a case of that checkout's benchmark.
"""

from __future__ import annotations

import sys
import time


def main() -> None:
    """Train one round whenever a line comes; print the seconds."""
    from tests.benchmarks.training import CASES, data_of, engine_round

    case = CASES[sys.argv[1]]
    work = engine_round(case, data_of(case, case.owners))
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print("seconds", time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: all comes from the other checkout
    main()
