"""What the page shows, without a browser: choosing, going on and back, side by side, repeating, saving."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Federation, OwnerProfile, Scenario, load, population
from fedabm.common.errors import InputError
from fedabm.comparison.example import EXAMPLE
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.live.charts import _ticks, decision, looks_of, over_time
from fedabm.live.following import followed
from fedabm.live.graphs import collaboration, money, network
from fedabm.live.moments import MEASURES
from fedabm.live.run_choice import source_of
from fedabm.live.session import Session, fresh_folder
from fedabm.live.setup import MixturePart, Setup, counts, mixture_of, read_setup, scenarios, setup_of, spread
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.simulation.activation import Sequential
from fedabm.strategies import BestResponse, FreeRider, Keep, Liar, Quitter, Random
from fedabm.views import SERVER
from tests.conftest import Says

LIAR = Liar(BestResponse(), contribution_factor=2.0)


def scenario(**changes):
    """Best responders with costs .1 and .25, and a liar, on 1 - 1/(1 + S)."""
    people = population([0.1, 0.25, 0.3], 100.0, [BestResponse(), BestResponse(), LIAR], names=["<b>A</b>", "", "C"])
    return replace(Scenario(people, PowerLaw(), NoPayments(), Sequential(), steps=12), **changes)


def session(setup=None, **changes):
    return Session(source_of(scenario(**changes)), setup or Setup(("no payments", "shapley_share")))


def test_watching_changes_nothing():
    """Bit for bit the frames of a run that nobody watches, though every owner's offer was looked at."""
    random = population([0.1, 0.2, 0.3], 50.0, [Random(), BestResponse(), LIAR])
    for rule in (NoPayments(), ContributionSubsidy(0.05)):
        told = Scenario(random, PowerLaw(), rule, steps=6)
        seen = Session(source_of(told), Setup((next(iter(source_of(told).mechanisms)),), seed=3))
        seen.show(6)
        alone = Federation(replace(told, record=1), 3).run().frames()
        for name in ("steps", "owners", "transfers"):
            pd.testing.assert_frame_equal(getattr(seen.frames(), name), getattr(alone, name))


def test_both_sides_have_the_same_owners_and_each_its_own_mechanism():
    seen = session()
    assert [side.label for side in seen.sides] == ["no payments", "Shapley share"]
    assert seen.sides[0].scenario.owners == seen.sides[1].scenario.owners
    seen.show(12)
    assert seen.sides[0].at(12).totals["data"] == pytest.approx(10**0.5 - 1)
    assert seen.sides[1].at(12).totals["data"] > seen.sides[0].at(12).totals["data"]


def test_one_goes_back_and_on_through_what_was_seen():
    seen = session()
    for _ in range(3):
        seen.advance()
    third = seen.sides[1].at(3)
    seen.show(1)
    assert (seen.step, seen.known) == (1, 3)
    assert seen.sides[1].at(1) is not third
    seen.advance()
    seen.advance()
    assert seen.sides[1].at(seen.step) is third
    assert seen.known == 3
    seen.show(-5)
    assert seen.step == 0
    assert seen.sides[0].at(0) is None


def test_a_shorter_run_stands_still_at_its_end():
    seen = session()
    seen.show(12)
    short = seen.sides[0]
    assert len(short.moments) < len(seen.sides[1].moments)
    assert short.at(seen.step) is short.moments[-1]
    assert seen.ended
    seen.advance()
    assert seen.step == seen.known


@given(st.lists(st.floats(0, 50), min_size=1, max_size=6).filter(lambda shares: sum(shares) > 0.1), st.integers(1, 60))
def test_a_mixture_gives_everybody_a_strategy_and_every_share_its_due(shares, owners):
    """Hamilton's method stays within one of the quota."""
    numbers = counts(shares, owners)
    assert sum(numbers) == owners
    assert all(abs(many - owners * share / sum(shares)) < 1 for many, share in zip(numbers, shares, strict=True))
    assert np.bincount(spread(numbers), minlength=len(numbers)).tolist() == numbers


def test_mixture_costs_and_oracle_are_what_was_chosen():
    setup = Setup(
        ("no_payments",),
        mixture=(MixturePart(1, "free_rider"), MixturePart(2, '{ kind = "fixed_share", share = 0.5 }')),
        low=0.1,
        high=0.3,
        cost=2.0,
        accuracy='{ kind = "power_law", exponent = 0.5 }',
        steps=4,
    )
    (made,) = scenarios(source_of(scenario()), setup).values()
    assert [type(one.strategy).__name__ for one in made.owners] == ["FixedShare", "FreeRider", "FixedShare"]
    assert [float(one.cost.value(np.ones(1))[0]) for one in made.owners] == pytest.approx([0.2, 0.4, 0.6])
    assert made.accuracy == PowerLaw(exponent=0.5)
    assert made.steps == 4
    assert [one.name for one in made.owners] == ["<b>A</b>", "", "C"]


def test_what_owners_have_is_the_usual_mixture():
    found = mixture_of(scenario().owners)
    assert found == (
        MixturePart(2, "best_response"),
        MixturePart(1, '{ kind = "liar", truth = "best_response", contribution_factor = 2.0 }'),
    )
    seen = session(Setup(("no payments",), mixture=found))
    assert sorted(seen.sides[0].strategies) == ["best_response", "best_response", "liar(best_response)"]


def test_a_link_and_a_file_repeat_what_is_shown(tmp_path):
    (tmp_path / "study.toml").write_text(EXAMPLE, "utf-8")
    source = source_of(tmp_path / "study.toml")
    usual = Setup(("no payments",))
    mixture = (
        MixturePart(3, "best_response"),
        MixturePart(2, '{ kind = "liar", truth = "best_response", size_factor = 2.0 }'),
    )
    wanted = Setup(("Shapley shares", "no payments"), seed=4, mixture=mixture, cost=0.5, steps=9, step=5, owner=2)
    seen = Session(source, wanted)
    seen.show(5)
    assert replace(seen.state, source="", settings=()) == wanted
    assert setup_of(seen.state.query(), usual) == wanted
    (tmp_path / "live.toml").write_text(seen.state.text(), "utf-8")
    again = read_setup(tmp_path / "live.toml")
    assert again == seen.state
    other = Session(source_of(again.source), again)
    other.show(again.step)
    pd.testing.assert_frame_equal(other.frames().owners, seen.frames().owners)
    assert read_setup(tmp_path / "study.toml") is None


def test_frames_report_and_state_are_saved_and_repeat(tmp_path):
    source = source_of("free_riding", ["owners=4"])
    seen = Session(source, Setup(("no payments", "subsidy 0.012")))
    with pytest.raises(InputError, match="nothing to save"):
        seen.save(tmp_path / "empty")
    seen.show(3)
    folder = fresh_folder(tmp_path, source.name)
    assert seen.save(folder).read_text("utf-8").startswith("<!")
    assert fresh_folder(tmp_path, source.name).name == "live-free_riding-2"
    assert load(folder).runs["label"].tolist() == ["no payments", "subsidy 0.012"]
    assert read_setup(folder / "live.toml").settings == ("owners=4",)
    assert json.loads((folder / "manifest.json").read_text())["repeat"].startswith("fedabm live ")


def test_events_tell_what_is_new_and_nothing_twice():
    people = (
        OwnerProfile(Linear(0.1), 100.0, BestResponse(), name="A"),
        OwnerProfile(Linear(0.1), 10.0, Liar(Keep(), size_factor=2.0), start=5.0, name="B"),
        OwnerProfile(Linear(1.0), 10.0, Quitter(Keep()), start=10.0, name="C"),
        OwnerProfile(Linear(0.1), 10.0, FreeRider(), joins=3, name="D"),
        OwnerProfile(Linear(0.1), 10.0, Says(np.nan), name="E"),
    )
    seen = Session(source_of(Scenario(people, PowerLaw(), steps=5)), Setup(("no payments",)))
    seen.show(5)
    told = [(event.step, event.kind, event.words.split()[0]) for event in seen.sides[0].events if event.owner >= 0]
    assert sorted(told) == [(1, "lied", "B"), (1, "rejected", "E"), (2, "left", "C"), (3, "joined", "D")]
    lie = next(event.words for event in seen.sides[0].events if event.kind == "lied")
    assert lie == "B lied: said it has 20, has 10"
    assert [event.step for event in seen.sides[0].events_at(2)] == [2, 1, 1]
    assert seen.sides[0].events[-1].kind == "ended"


def test_a_followed_owner_shows_its_own_view_only():
    """Costs, names and amounts of others do not appear; its expected utility is a(x + rest) - c x."""
    seen = session(Setup(("no payments",), owner=1))
    seen.show(2)
    side = seen.sides[0]
    words = " ".join(value for rows in followed(side, 1, 2) for _, value in rows)
    assert "0.25" in words
    assert all(secret not in words for secret in ("0.1 ", "0.3", "<b>", "C"))
    x = np.linspace(0, 100, 17)
    rest = side.at(2).claimed[0]
    np.testing.assert_allclose(side.at(2).sights.curve[1], 1 - 1 / (1 + x + rest) - 0.25 * x)
    assert followed(side, 2, 2).does[0] == ("gives", f"{side.at(2).contribution[2]:.4g}")


def test_charts_and_graphs_are_plain_json_and_names_are_values_only():
    """A key that begins with a colon would be run by the browser, NaN would break the page."""
    seen = session()
    for step in (0, 3):
        seen.show(step)
        for side in seen.sides:
            made = [over_time(seen, side, name) for name in MEASURES]
            made += [
                network(side, graph(side.at(step)), looks_of(seen), "t", 0, step) for graph in (money, collaboration)
            ]
            made.append(decision(side, 0, step))
            text = json.dumps(made, allow_nan=False)
            assert all(not key.startswith(":") and "<" not in key for key in _keys(json.loads(text)))
    axes = [over_time(seen, side, "utility")["yAxis"] for side in seen.sides]
    assert axes[0] == axes[1]


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_an_axis_begins_and_ends_with_a_tick_around_all_values(one, other):
    low, high = min(one, other, 0.0), max(one, other, 0.0)
    found = _ticks(low, high)
    ticks = (found["max"] - found["min"]) / found["interval"]
    assert found["min"] <= low <= high <= found["max"]
    assert ticks == pytest.approx(round(ticks), abs=1e-3)
    assert found["min"] / found["interval"] == pytest.approx(round(found["min"] / found["interval"]), abs=1e-3)
    assert 1 <= round(ticks) <= 7


def _keys(value):
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(one)


def test_the_graphs_hold_the_money_and_the_data_of_the_step():
    seen = session()
    seen.show(3)
    side = seen.sides[1]
    moment = side.at(3)
    paid = money(moment)
    for owner in range(3):
        net = paid.in_degree(owner, weight="weight") - paid.out_degree(owner, weight="weight") if owner in paid else 0
        assert net == pytest.approx(moment.payment[owner])
    given = collaboration(moment)
    assert {a: weight for a, b, weight in given.edges(data="weight")} == pytest.approx(
        {owner: moment.contribution[owner] for owner in range(3) if moment.contribution[owner] > 0}
    )
    assert all(b == SERVER for _, b in given.edges)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("mechanism=shapley_shar", "did you mean 'shapley_share'"),
        ("mechanism=os:system", "names a file or module"),
        ("mixture=1+%7Bkind%3D%22liar%22,truth%3D%22evil.py:X%22%7D", "names a file or module"),
        ("accuracy=%7B+kind+%3D+%22custom%22,+function+%3D+%22os:getcwd%22+%7D", "names a file or module"),
        ("mechanism=no_payments&mechanism=no_payments", "the same mechanism twice"),
        ("mechanism=a&mechanism=b&mechanism=c", "one or two mechanisms"),
        ("mixture=0+free_rider", "shares of 0"),
        ("seed=many", "seed must be a number"),
        ("steps=1000000000", "steps"),
        ("owner=3", "owner"),
        ("low=1", "lowest and the highest"),
    ],
)
def test_bad_links_get_one_line(query, words):
    with pytest.raises(InputError, match=words) as error:
        Session(source_of(scenario()), setup_of(query, Setup(("no payments",))))
    assert "\n" not in str(error.value)


def test_scripts_studies_games_and_scenarios_can_be_watched(tmp_path):
    (tmp_path / "study.toml").write_text(EXAMPLE, "utf-8")
    (tmp_path / "game.toml").write_text(
        'mechanism = "shapley_share"\naccuracy = "power_law"\nowners = { costs = [0.1, 0.25], capacity = 100 }\n'
    )
    assert list(source_of(tmp_path / "study.toml").mechanisms) == ["no payments", "subsidy", "Shapley shares"]
    game = source_of(tmp_path / "game.toml")
    seen = Session(game, Setup(tuple(game.mechanisms)))
    seen.show(200)
    np.testing.assert_allclose(seen.sides[0].moments[-1].contribution, [2.99839298, 1.16904814], rtol=1e-6)
    script = source_of("free_riding", more=["cost_sharing"])
    assert list(script.mechanisms) == ["no payments", "subsidy 0.012", "cost sharing"]
    with pytest.raises(InputError, match="no parameters to set"):
        source_of(tmp_path / "study.toml", ["owners=3"])
    with pytest.raises(InputError, match="unknown scenario"):
        source_of("fre_riding")


def test_a_failing_rule_is_told_in_one_line_and_leaves_what_was_seen():
    people = population([0.1, 0.2], 10.0, [BestResponse(), Says(1.0, until=1)])
    broken = Scenario(people, PowerLaw(), _Breaking(), steps=5)
    seen = Session(source_of(broken), Setup(tuple(source_of(broken).mechanisms)))
    seen.advance()
    with pytest.raises(InputError, match="promises a balanced budget"):
        seen.advance()
    assert seen.step == 1


class _Breaking(NoPayments):
    """Pays out of nothing from the second step on."""

    def settle(self, view):
        outcome = super().settle(view)
        return outcome if view.step < 2 else replace(outcome, payments=outcome.payments + 1.0)
