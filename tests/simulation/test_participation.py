"""Who is there trains, claims and pays; who is not does nothing until it is back."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.common.errors import InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation.activation import RandomSubset
from fedabm.simulation.checkpoint import restore, save
from fedabm.simulation.participation import Deadline, Everyone, SampleCount, SampleShare, Trace
from fedabm.simulation.stacking import why_alone
from fedabm.strategies import BestResponse, FixedShare, Honest
from tests.conftest import assert_equal_frames

KINDS = {
    "count": SampleCount(4),
    "share": SampleShare(0.3),
    "trace": Trace([[0, 1], [2, 3, 4], []]),
    "deadline": Deadline(6.0, speed=[1.0, 2.0] * 6, late="discount", jitter=0.3),
}


def twelve(participation, **changes):
    owners = population(np.linspace(0.001, 0.012, 12), 10.0, Honest())
    return replace(
        Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=8), participation=participation, **changes
    )


def given(model):
    frame = model.frames().owners
    return frame.pivot_table(index="step", columns="owner", values="contribution").to_numpy()


def test_exactly_so_many_of_twelve_honest_owners_contribute_in_every_round():
    found = given(Federation(twelve(SampleCount(4)), seed=1).run())
    assert (found > 0).sum(axis=1).tolist() == [4] * 8
    assert len({tuple(row > 0) for row in found}) > 1  # drawn anew


def test_a_random_subset_that_decides_is_not_a_sample_that_trains():
    """Those who are not drawn repeat their last action: what `RandomSubset` is for, and `SampleCount` is not."""
    found = given(Federation(twelve(Everyone(), activation=RandomSubset(4)), seed=1).run())
    assert (found > 0).sum(axis=1).max() > 4


@pytest.mark.parametrize(("share", "owners"), [(0.3, 4), (0.25, 3), (1.0, 12), (0.01, 1)])
def test_a_share_is_rounded_up(share, owners):
    found = given(Federation(twelve(SampleShare(share)), seed=1).run())
    assert (found > 0).sum(axis=1).tolist() == [owners] * 8


def test_a_trace_is_followed_and_begins_again():
    found = given(Federation(twelve(Trace([[0, 1], [2]])), seed=1).run())
    assert [np.flatnonzero(row).tolist() for row in found] == [[0, 1], [2]] * 4


def test_the_absent_bear_no_cost_and_are_paid_what_the_rule_pays_for_a_claim_of_nothing():
    """p_i = rate * (s_i - mean of the others'): two owners at 10, one absent of three."""
    owners = population([0.1, 0.1, 0.1], 10.0, FixedShare(1.0))
    model = Federation(
        Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=1, participation=Trace([[0, 1]]))
    ).run()
    end = model.frames().at_end("owners")
    assert end["cost"].tolist() == pytest.approx([1.0, 1.0, 0.0])
    assert end["reported_contribution"].tolist() == [10.0, 10.0, 0.0]
    assert end["payment"].tolist() == pytest.approx([0.01 * (10 - 5), 0.01 * (10 - 5), -0.01 * 10])


def test_who_is_back_goes_on_with_its_last_action_unless_it_is_asked():
    model = Federation(twelve(Trace([[0, 1, 2], [3], [0, 1, 2]]), activation=RandomSubset(12), steps=3))
    model.step()
    before = model.population.contribution[:3].copy()
    model.scenario = replace(model.scenario, activation=RandomSubset(1))
    model.step()
    assert model.population.contribution[:3].tolist() == [0.0] * 3
    model.step()
    assert np.array_equal(model.population.contribution[:3], before)


def test_late_updates_are_dropped_or_discounted_and_their_owners_bear_the_cost():
    owners = population([0.1, 0.1], 10.0, FixedShare(1.0))
    scenario = Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=1)
    for late, counts in (("drop", 0.0), ("discount", 0.25)):
        rule = Deadline(10.0, speed=[1.0, 0.5], late=late, discount=0.25)
        end = Federation(replace(scenario, participation=rule)).run().frames().at_end("owners")
        total = 10.0 + counts * 10.0
        assert end["accuracy"].tolist() == pytest.approx([1 - 1 / (1 + total)] * 2)
        assert end["cost"].tolist() == pytest.approx([1.0, 1.0])
        assert end["payment"].tolist() == pytest.approx([0.1 * (1 - counts), -0.1 * (1 - counts)])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_runs_repeat_and_can_be_interrupted(kind, tmp_path):
    scenario = twelve(kind)
    whole = Federation(scenario, seed=5).run()
    assert_equal_frames(whole.frames(), Federation(scenario, seed=5).run().frames())
    half = Federation(scenario, seed=5)
    for _ in range(4):
        half.step()
    again = restore(save(half, tmp_path / "half"), scenario).run()
    assert_equal_frames(whole.frames(), again.frames())


def test_draws_do_not_depend_on_what_owners_do():
    there = [
        given(Federation(twelve(SampleCount(4), owners=population([0.01] * 12, 10.0, kind)), seed=2).run()) > 0
        for kind in (Honest(), FixedShare(0.5))
    ]
    assert np.array_equal(*there)


def test_such_runs_are_not_stepped_together_and_do_not_come_to_rest():
    assert why_alone(twelve(SampleCount(4))) == "owners that are absent or late"
    owners = population([0.001] * 12, 10.0, BestResponse())
    assert Federation(twelve(SampleCount(4), owners=owners), seed=1).run().status == "stopped"


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: SampleCount(0), "from 1 on"),
        (lambda: SampleShare(1.5), "share"),
        (lambda: Trace([]), "trace"),
        (lambda: Trace([[-1]]), "trace"),
        (lambda: Trace(3), "trace"),
        (lambda: Deadline(0.0), "deadline"),
        (lambda: Deadline(1.0, speed=[0.0]), "speeds"),
        (lambda: Deadline(1.0, late="never"), "drop or discount"),
        (lambda: twelve(Trace([[12]])), "owner 12"),
        (lambda: twelve(Deadline(1.0, speed=[1.0, 2.0])), "2 speeds but 12 owners"),
        (lambda: twelve("half"), "participation"),
    ],
)
def test_bad_input_is_refused_in_one_line(make, word):
    with pytest.raises(InputError, match=word) as error:
        make()
    assert "\n" not in str(error.value)


def test_only_who_is_there_trains():
    """The model after a round in which owner 1 is alone is that of a federation in which only it contributes."""
    from fedabm.data.datasets import load_dataset
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import Dirichlet
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.oracles import Learning

    data = from_partition(load_dataset("digits"), Dirichlet(3, 5.0), 1, 0.5)
    shares = [[0.5] * 3, [0.0, 0.5, 0.0]]
    models = []
    for kinds, participation in zip(shares, (Trace([[1]]), Everyone()), strict=True):
        owners = population([1e-4] * 3, data.capacities.tolist(), [FixedShare(share) for share in kinds])
        learning = Learning(Engine("logistic", data, device="cpu"), announced=PowerLaw())
        models.append(Federation(Scenario(owners, learning, steps=2, participation=participation), seed=4).run())
    assert models[0].frames().at_end("owners")["accuracy"].equals(models[1].frames().at_end("owners")["accuracy"])
    assert models[0].frames().at_end("owners")["accuracy"].min() > 0


def test_the_absent_do_not_attack():
    from fedabm.strategies import Attacker

    attackers = population([0.01] * 3, 10.0, Attacker(Honest(), "nan"))
    model = Federation(Scenario(attackers, PowerLaw(), steps=1, participation=Trace([[1]])))
    model.step()
    assert [group.members.tolist() for group in model.population.tampering(1)] == [[1]]


def test_a_study_in_a_text_file_says_who_is_there(tmp_path):
    from fedabm.cli import main

    text = """
mechanisms = ["no_payments"]
accuracy = { kind = "power_law" }
participation = { kind = "sample_count", count = 2 }
steps = 3
figures = []
[[groups]]
name = "clinic"
count = 5
cost = 0.01
data = 10
strategy = "honest"
"""
    (tmp_path / "study.toml").write_text(text)
    assert main(["run", str(tmp_path / "study.toml"), "--quiet", "--out", str(tmp_path / "out")]) == 0
    from fedabm import load as read

    given = read(tmp_path / "out").owners.groupby("step")["contribution"].apply(lambda column: (column > 0).sum())
    assert given.tolist() == [2, 2, 2]


def test_frames_say_who_took_part_and_what_was_taken_off():
    frames = Federation(twelve(SampleCount(4)), seed=1).run().frames()
    assert frames.steps["participants"].tolist() == [4] * 8
    assert (frames.owners["took_part"] == (frames.owners["contribution"] > 0)).all()
    assert (frames.owners["discount"] == 0).all()
    late = Federation(twelve(KINDS["deadline"]), seed=1).run().frames().owners
    assert set(late["discount"]) == {0.0, 0.5}
    assert late["took_part"].all()
    dropped = Federation(twelve(replace(KINDS["deadline"], late="drop")), seed=1).run().frames()
    assert 0 < dropped.steps["participants"].min() < 12
    assert (dropped.owners["took_part"] == (dropped.owners["discount"] == 0)).all()
