"""Rules where models train: what is not read is not played, groups leave, servers are wrong, all rules are tuned."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm.accuracy import PowerLaw
from fedabm.auditing import contenders
from fedabm.auditing.arena import Arena
from fedabm.auditing.contenders import Contender, contending, prepared
from fedabm.auditing.definitive import definitive
from fedabm.auditing.league import BEST, PAIR
from fedabm.auditing.mistaken import MISLED, Belief, beliefs, too_steep
from fedabm.auditing.play import ONCE, TrainedPlay
from fedabm.auditing.trained import TRAINED, trained_league
from fedabm.common.bounds import bounds_of
from fedabm.costs import PowerCost
from fedabm.mechanisms import CGSV, CostSharing, MultiplicativeWeights, NoPayments, ScorePayments, Screening
from fedabm.views import Reports


@pytest.fixture(scope="module")
def arena():
    return Arena.of(0, 4)


def test_trained_rows_are_those_of_the_closed_half_and_have_a_number_or_a_reason():
    found = trained_league(1, 4, ["CostSharing", "CGSV"], tuning=2)
    assert set(found.rows["deviation"]) == {*TRAINED, BEST, PAIR}
    skipped = found.rows["words"].str.startswith("skipped: ")
    assert (found.rows["gain"].isna() == skipped).all()
    by = found.rows.set_index(["rule", "deviation"])
    assert np.isnan(by.loc[("CGSV", "claims twice"), "gain"])
    assert np.isfinite(by.loc[("CostSharing", "cost x3"), "gain"])
    assert by.loc[("CostSharing", BEST), "gain"] >= by.loc[("CostSharing", ["claims twice", "cost x3"]), "gain"].max()
    reached = found.achieved[found.achieved["scheme"] == "trained"].set_index(["rule", "measure"])
    assert {"reciprocity", *ONCE} <= {measure for _, measure in reached.index}
    assert np.isfinite(reached.loc[("CostSharing", list(ONCE[:-1])), "value"].astype(float)).all()
    assert (found.achieved["value"].isna() == (found.achieved["note"] != "")).all()
    table = definitive(found)
    assert (table["mean"].notna() | (table["note"] != "")).all()


def test_a_statement_that_a_rule_does_not_read_is_not_played(arena):
    """A subsidy-free rule reads no costs and no sizes; costs are shared by what is stated; who asks reads sizes."""
    assert set(TrainedPlay(arena, Contender(NoPayments())).unread) == {"cost", "size"}
    assert "cost" not in TrainedPlay(arena, Contender(CostSharing(0.5))).unread
    assert "size" not in TrainedPlay(arena, Contender(MultiplicativeWeights(0.5, 100.0))).unread
    assert set(TrainedPlay(arena, Contender(CGSV())).unread) == {"cost", "claim"}


def test_a_rule_that_asks_for_data_is_not_idle_and_asks_for_a_share_of_all(arena):
    rule = contending(arena)["MultiplicativeWeights"].rule
    assert rule.data == 0.5 * arena.clean.capacities.sum()
    ended = arena.run(rule)
    assert ended.contribution.sum() == pytest.approx(rule.data, rel=0.01)
    assert arena.rations(rule, ended)
    assert not arena.rations(NoPayments(), ended)


def test_those_who_leave_have_their_own_data_only(arena):
    rows = [1, 3]
    few = arena.among(rows)
    for place, row in enumerate(rows):
        for mine, whole in zip(few.clean.train(place), arena.clean.train(row), strict=True):
            assert np.array_equal(mine, whole)
        assert np.array_equal(few.clean.test(place)[0], arena.clean.test(row)[0])
    assert few.rates.tolist() == arena.rates[rows].tolist()
    alone = TrainedPlay(arena.among([2]), Contender(NoPayments())).honest
    assert alone.contribution.shape == (1,)


def test_every_rule_with_a_parameter_is_tuned_and_what_is_paid_for_scores_needs_no_new_run(arena, monkeypatch):
    short = replace(arena.world, rounds=2)
    arena = replace(arena, world=short)
    played = []
    run = contenders._honest_and_ridden
    monkeypatch.setattr(contenders, "_honest_and_ridden", lambda *given: played.append(given) or run(*given))
    contenders._by_runs.cache_clear()
    for name in ("CGSV", "CosineScores", "UpdateNorms", "ContributionSubsidy"):
        played.clear()
        chosen, words = prepared(name, arena, 4)
        assert all(f"{part.rpartition('.')[2]} = " in words for part in bounds_of(chosen))
        assert len(played) == {"CGSV": 4, "CosineScores": 1, "ContributionSubsidy": 0}.get(name, len(played))
    assert prepared("NoPayments", arena, 4)[1] == "it has no parameter"


def test_a_free_ride_that_pays_is_taken_off_what_a_rule_is_worth(arena):
    """Norms without the penalty pay who sends nothing, so that no payment at all is better."""
    from fedabm.learning.knowledge.update_norms import UpdateNorms

    short = replace(arena, world=replace(arena.world, rounds=2))
    worth = [contenders._worth(Contender(ScorePayments(rate), UpdateNorms(1.0, 0.0)), short, {}) for rate in (0.0, 1.0)]
    assert worth[0] > worth[1] + 0.1


def test_a_wrong_curve_by_hand():
    """0.9 - 0.5/(1 + S/2) starts at 0.4, and so does 0.9 - 0.5/(1 + S/2)^2."""
    curve = PowerLaw(1.0, 1.0, 2.0, 0.9)
    totals = np.array([0.0, 2.0, 6.0])
    assert curve.curve(totals) == pytest.approx([0.4, 0.65, 0.775])
    assert too_steep(curve).curve(totals) == pytest.approx([0.4, 0.775, 0.86875])


def test_what_a_server_believes_or_why_that_changes_nothing():
    def same(rule, games):
        return rule

    def games(curve, factor):
        return []

    found = beliefs(CostSharing(0.5), PowerLaw(), same, games)
    said = Reports(np.ones(2), np.full(2, 5.0), PowerCost(np.array([0.1, 0.2]), np.ones(2), np.zeros(2)))
    heard = replace(said, cost=PowerCost(np.array([0.2, 0.4]), np.ones(2), np.zeros(2)))
    paid = [
        rule.offers(PowerLaw(), reports).payment.value(np.full((2, 1), 2.0)).tolist()
        for rule, reports in ((found["costs"].rule, said), (CostSharing(0.5), heard), (CostSharing(0.5), said))
    ]
    assert paid[0] == paid[1] != paid[2]
    assert found["curve"] == Belief(CostSharing(0.5), PowerLaw(exponent=2.0))
    assert found["prior"] == "the rule has no prior"
    prior = beliefs(Screening(0.1, 0.2, 0.5), PowerLaw(), same, games)["prior"]
    assert (prior.rule.low, prior.rule.high) == (0.2, 0.4)
    assert all(isinstance(one, str) for one in beliefs(CGSV(), PowerLaw(), same, games).values())
    assert isinstance(beliefs(NoPayments(), PowerLaw(), same, games)["costs"], str)
    assert tuple(found) == MISLED
