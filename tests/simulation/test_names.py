"""Owners have names in frames, figures and as agents."""

import pytest

from fedabm import Federation, Scenario, population
from fedabm.analysis.figures import money_graph, owner_bars
from fedabm.common.errors import InputError
from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.mechanisms import ContributionSubsidy, PaymentRule

HOSPITALS = ["St. Mary", "Charité", "County"]


def made(names) -> Federation:
    people = population([0.01, 0.02, 0.03], 50.0, names=names)
    return Federation(Scenario(people, PowerLaw(), ContributionSubsidy(0.005), steps=3)).run()


def test_names_are_in_frames_agents_and_figures():
    model = made(HOSPITALS)
    frames = model.frames()
    last = frames.owners[frames.owners["step"] == frames.owners["step"].max()]
    assert last.sort_values("owner")["name"].tolist() == HOSPITALS
    assert [owner.name for owner in model.agents] == HOSPITALS
    bars = owner_bars(frames, {"utility": "utility"})
    assert [tick.get_text() for tick in bars.axes[0].get_xticklabels()] == HOSPITALS
    texts = [text.get_text() for text in money_graph(frames.transfers, frames.owners).texts]
    assert set(HOSPITALS) <= set(texts)


def test_without_names_owners_go_by_their_numbers():
    model = made(())
    assert set(model.frames().owners["name"]) == {""}
    assert model.agents[0].name == "owner 0"


def test_two_owners_of_one_name_are_refused():
    with pytest.raises(InputError, match="2 owners are called 'County'"):
        made(["County", "County", "x"])
    with pytest.raises(InputError, match="2 names but 3 costs"):
        made(["County", "x"])


def test_functions_in_frames_go_by_their_names_not_by_where_they_lie_in_memory():
    rule = PaymentRule(lambda accuracy, reports: 0.1 * reports.contribution)
    accuracy = Custom(lambda profiles: 0.5 + 0 * profiles, owners=2, concave=True, monotone=True)
    runs = Federation(Scenario(population([0.1, 0.2], 5.0), accuracy, rule, steps=1)).run().frames().runs
    assert "lambda" in runs["mechanism"][0]
    assert "lambda" in runs["accuracy"][0]
    assert "0x" not in runs["mechanism"][0] + runs["accuracy"][0]
