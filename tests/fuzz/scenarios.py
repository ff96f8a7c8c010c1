"""Every scenario's quick preset ends well on many seeds, and with its parameters at their extremes.

    python -m tests.fuzz.scenarios --seeds 10
    python -m tests.fuzz.scenarios --seeds 10 --only market_churn free_riding

What is meant to work must end with all its files; numbers that make no sense may be refused, in one line.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import sys
import tempfile
import time
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fedabm import load
from fedabm.specs.hints import hints_of
from fedabm.study import library, study
from tests.fuzz.trying import Verdict, attempt

#: seconds of computing that one scenario may take
PATIENCE = 170.0
#: one seed each, as every seed is tried anyway, and less of what would only be more of the same
SMALL = {
    "cost_discrimination": ["owners=1000", "fractions=0.1,0.5,1"],
    "forty_owners": ["rounds=20"],
    "gpt3": ["points=20"],
    "learning_to_lie": ["rounds=4", "tries=20"],
    "market_attacks": ["seeds=1", "attacks=sign_flip,nan"],
    "market_comparison": ["seeds=1", "splits=niid"],
    "mechanism_by_population": ["seeds=1", "owners=3"],
    "mixed_population": ["seeds=1", "changes=2"],
    "proportional_rules": ["owners=1000", "simulated=20"],
    "reciprocity_table": ["seeds=1", "dataset=mnist"],
    "reciprocity_table_trained": ["seeds=1", "data=digits"],
    "scale_study": ["largest=1000"],
    "tournament": [
        "seeds=1",
        "steps=3",
        "owners=2",
        'mechanisms=["no_payments","shapley_share","clarke","value_shaping"]',
    ],
    "value_shaping": ["owners=1000", "points=8"],
}
#: one owner, nobody left, all attackers or liars, no data, nothing to gain: all of it must end well
EXTREMES: dict[str, tuple[str, ...]] = {
    "best_lie": ("costs=0.02", "costs=0,0", "costs=1000,1000", "capacity=1e-6", "largest_claim=1"),
    "cost_discrimination": ("owners=2", "low=0.00019", "fractions=1", "fractions=0.001", "simulated=2"),
    "first_training": (
        *("owners=1 free_riders=0", "free_riders=10", "free_riders=0", "highest_cost=1e-9", "highest_cost=1e6"),
        "rounds=1",
    ),
    "forty_owners": ("owners=5", "rounds=1", "rate=0", "rate=1000", "overstatement=1", "overstatement=1000"),
    "free_riding": (
        *("owners=2 free_riders=0 liars=0", "free_riders=0 liars=0", "free_riders=11", "free_riders=0 liars=11"),
        *("rate=0", "rate=1000", "overstatement=1", "overstatement=1000"),
    ),
    "free_riding_collapse": ("owners=1", "sizes=1", "lowest=0.0019", "highest=1000", "complexity=1000"),
    "gpt3": ("companies=1", "points=2", "cost=0.05"),
    "inclusive_market": ("attack=sign_flip", "attack=nan"),
    "individual_optimum": ("costs=1000", "costs=1e-9", "points=2", "complexities=1"),
    "language_market": ("rules=iPFL", "first=free_rider rules=iPFL", "first=poisoner rules=iPFL"),
    "learning_to_lie": ("owners=1", "rounds=1", "tries=10"),
    "market_attacks": ("full=true", "attacker=1", "attacks=nan", "rules=iPFL", "unit_cost=1e9", "scale=1e6"),
    "market_churn": ("newcomers=0", "newcomers=12", "newcomers=12 joins=1000", "joins=1", "joins=1000", "rules=CFL"),
    "market_comparison": ("owners=3", "splits=niid"),
    "market_liars": ("factors=1", "factors=1e6", "liar=1 friend=0"),
    "market_rationality": ("owners=3", "split=cluster"),
    "market_theory": ("rounds=1", "unit_cost=0", "unit_cost=1e9", "eagerness=0", "within=0 between=0", "factors=1"),
    "mechanism_by_population": ("owners=2", "shares=0", "shares=1", "steps=1"),
    "mixed_population": ("highest_cost=1e-9", "highest_cost=1e6", "changes=1"),
    "no_equilibrium": ("rounds=1", "epsilon=0.001"),
    "p_mean_table": ("cost=1e-9", "cost=1e6", "goal=0", "goal=1", "mw_share=1e-6", "mw_share=1"),
    "payments_by_contribution": ("subsidy=1e-6", "subsidy=1e6", "budget=1e-6", "sigma=1e-6"),
    "proportional_rules": ("owners=2", "powers=0", "powers=1", "cost=1000", "simulated=2"),
    "reciprocity_table": ("cost=1e-9", "cost=1000", "active=1"),
    "reciprocity_table_trained": ("cost=1000", "rounds=1"),
    "scale_study": ("largest=100 owners=1", "largest=100 cores=1"),
    "screening": ("owners=1", "others=0", "probability=0", "probability=1", "low=0.00099", "points=2"),
    "shaped_models": ("owners=2", "rounds=1", "interval=100000", "highest_cost=1e6", "power=0", "power=1"),
    "shared_adapter": ("rounds=1", "subsidy=0", "highest_cost=1000"),
    "stage_payments": ("cost=1e-9", "cost=1000", "start=0"),
    "step_size_region": ("owners=1", "cross=0", "bound=1e6"),
    "tournament": (
        *("accuracy=power_law capacity=1e-6", "spread=0", "spread=1", "cost=1000", "cost=1e-9", "capacity=1"),
        "population_size=4",
    ),
    "two_phase": ("costs=0,0", "costs=1000,1000 subsidy=1001", "start=0", "costs=0.1"),
    "value_shaping": ("owners=2", "shown_owners=2", "shown_cost=1000", "complexities=1", "points=2"),
    "welfare_by_owners": ("owners=1", "owners=2", "subsidy=0", "subsidy=1e6"),
    "welfare_by_subsidy": ("subsidies=0", "subsidies=1e6"),
    "welfare_by_time": ("subsidy=0", "subsidy=1e6"),
    "welfare_two_owners": ("costs=0,0", "costs=10,10", "capacity=0.4", "capacity=1e6"),
}
#: not tried unless named, as models and texts must be fetched before
FETCHED = ("language_market", "shared_adapter")
#: numbers for parameters that nobody thought of, whole or not
ODD_WHOLE = ("0", "1", "-1", "1000000000000")
ODD = ("0", "1", "-1", "1e-9", "1e12")


@dataclass(frozen=True)
class Case:
    """One run of a scenario; `meant`: it must end well, and not just be refused in one line."""

    name: str
    seed: int
    settings: tuple[str, ...] = ()
    steps: int | None = None
    meant: bool = True

    def words(self, out: Path) -> list[str]:
        """The command."""
        quick = (
            ["preset=quick"] if "quick" in typing.get_args(hints_of(library.find(self.name).run).get("preset")) else []
        )
        given = [setting.partition("=")[0] for setting in self.settings]
        small = [setting for setting in small_of(self.name) if setting.partition("=")[0] not in given]
        steps = [] if self.steps is None else ["--steps", str(self.steps)]
        chosen = [f"--set={setting}" for setting in (*quick, *small, *self.settings)]
        return ["run", self.name, "--quiet", "--seed", str(self.seed), "--out", str(out), *steps, *chosen]


def small_of(name: str) -> list[str]:
    """Settings that make a scenario small without making it another one."""
    return SMALL.get(name) or (["seeds=1"] if "seeds" in library.find(name).defaults else [])


def on_seeds(names: Sequence[str], seeds: int) -> Iterator[Case]:
    """The quick preset, seed by seed."""
    return (Case(name, seed) for seed in range(seeds) for name in names)


def at_extremes(names: Sequence[str], steps: int | None = 3) -> Iterator[Case]:
    """What is meant to work, and every number at odd values."""
    for name in names:
        for setting in EXTREMES.get(name, ()):
            yield Case(name, 0, tuple(setting.split()), steps)
        for key, usual in library.find(name).defaults.items():
            for value in odd_values(key, usual):
                yield Case(name, 0, (f"{key}={value}",), 1, meant=False)


def odd_values(key: str, usual: Any) -> Sequence[str]:
    """Numbers that make little sense for a parameter, if it takes one; many seeds would only be the same again."""
    if isinstance(usual, bool) or not isinstance(usual, int | float):
        return ()
    if key == "seeds":
        return ("-1", "1000000000000")
    return ODD_WHOLE if isinstance(usual, int) else ODD


def tried(case: Case) -> Verdict:
    """How it ends; well is with frames or tables that can be read."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        patch.setattr(study, "_draw", lambda *given: given[-1].touch())  # pictures take most of the time
        out = Path(name) / "out"
        found = attempt(case.words(out), PATIENCE)
        if found.kind == "refused" and case.meant:
            return Verdict("unfinished", found.said)
        if found.kind == "done" and not len(load(out).runs) and not list(out.glob("*.csv")):
            return Verdict("empty", "neither runs nor tables")
    return found


def main() -> int:
    """Print what was found; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    usual = [name for name in library.names() if name not in FETCHED]
    parser.add_argument("--only", nargs="+", default=usual, metavar="NAME")
    parser.add_argument("--part", choices=("seeds", "extremes", "all"), default="all")
    options = parser.parse_args()
    parts = {"seeds": on_seeds(options.only, options.seeds), "extremes": at_extremes(options.only)}
    began, kinds, seconds = time.perf_counter(), collections.Counter[tuple[str, str]](), collections.Counter[str]()
    bad = 0
    with remembered_training():
        for part, cases in parts.items():
            for case in cases if options.part in (part, "all") else ():
                before = time.process_time()
                found = tried(case)
                seconds[case.name] += time.process_time() - before
                kinds[part, found.kind] += 1
                if not found.good:
                    bad += 1
                    print(f"--- {found.kind}: {' '.join(case.words(Path('out')))}\n{found.said[-2500:]}", flush=True)
    print("most time:", ", ".join(f"{name} {spent:.0f} s" for name, spent in seconds.most_common(8)))
    told = ", ".join(f"{number} {part} {kind}" for (part, kind), number in sorted(kinds.items()))
    scenarios = f"{len(options.only)} scenarios, {options.seeds} seeds"
    print(f"left out unless named with --only: {', '.join(FETCHED)}")
    print(f"{scenarios}: {sum(kinds.values())} runs in {time.perf_counter() - began:.0f} s, {bad} bad ({told})")
    return 1 if bad else 0


@contextlib.contextmanager
def remembered_training() -> Iterator[None]:
    """What is trained once is not trained again for another setting of the same study."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("FEDABM_TRAINED", folder)
        yield


if __name__ == "__main__":
    sys.exit(main())
