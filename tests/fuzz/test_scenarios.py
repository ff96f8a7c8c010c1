"""A short search for scenarios that do not end well; the long one is `python -m tests.fuzz.scenarios`."""

import pytest

from fedabm.study import library
from tests.fuzz.scenarios import EXTREMES, Case, tried


def test_every_scenario_has_extremes_of_parameters_that_there_are():
    assert set(EXTREMES) == set(library.names())
    for name, settings in EXTREMES.items():
        keys = {word.partition("=")[0] for setting in settings for word in setting.split()}
        assert keys <= set(library.find(name).defaults), name


@pytest.mark.parametrize(
    "case",
    [
        Case("market_churn", 3),  # everybody leaves
        Case("market_churn", 0, ("newcomers=12", "joins=1000"), 2),  # nobody ever comes
        Case("market_theory", 0, ("eagerness=0",), 2),
        Case("free_riding", 0, ("free_riders=11", "liars=0"), 2),
        Case("free_riding_collapse", 0, ("owners=1",), 2),
        Case("two_phase", 0, ("costs=0,0",), 2),
        Case("payments_by_contribution", 0, ("budget=1e-6",), 2),
        Case("inclusive_market", 0, ("attack=nan",), 2),
        Case("first_training", 0, ("owners=1", "free_riders=0", "rounds=1"), 1),
    ],
    ids=lambda case: "-".join((case.name, str(case.seed), *case.settings)),
)
def test_a_scenario_ends_well_at_its_extremes(case):
    verdict = tried(case)
    assert verdict.kind == "done", verdict.said
