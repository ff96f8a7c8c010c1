"""An owner that has another amount of data from now on."""

import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation.activation import RandomSubset
from fedabm.strategies import FixedShare, Honest, Liar


def play(people, **options):
    return Federation(Scenario(people, PowerLaw(), ContributionSubsidy(0.05), steps=30, **options), 1)


def test_nobody_is_paid_for_data_that_it_has_no_more():
    run = play(population([0.01] * 3, 20.0, Honest(), starts=20.0), activation=RandomSubset(1))
    run.step()
    run.owner(0).capacity = 5.0
    run.step()
    people = run.population
    assert people.claimed.tolist() == people.contribution.tolist() == [5.0, 20.0, 20.0]
    assert people.claimed_size.tolist() == [5.0, 20.0, 20.0]
    assert people.payment[0] < 0


def test_who_lied_goes_on_until_it_speaks_again():
    run = play(population([0.01] * 3, 20.0, [Liar(FixedShare(0.5), contribution_factor=1.5), Honest(), Honest()]))
    run.step()
    before = run.population.claimed[0]
    run.owner(0).capacity = 5.0
    assert run.population.contribution[0] == 5.0
    assert run.population.claimed[0] == before == 15.0


def test_an_only_owner_keeps_its_columns():
    run = play(population([0.01], 20.0, Honest(), starts=20.0))
    run.step()
    run.owner(0).capacity = 5.0
    assert run.owner(0).contribution == 5.0
    run.owner(0).capacity = 30.0
    assert run.population.contribution.tolist() == [5.0]
    run.step()
    assert run.population.contribution == pytest.approx([30.0])
