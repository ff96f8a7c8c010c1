"""Statements are what the rule pays, from any log; what is odd is an error or a stated rule."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, Game, InputError, Scenario, population, save, settle
from fedabm.accuracy import LinearPayoff, PowerLaw, Valued
from fedabm.bridges import ReplyRecorder
from fedabm.cli import main
from fedabm.mechanisms import CostSharing, PaymentRule, ShapleyShare
from fedabm.settlement.contract import Contract
from fedabm.settlement.document import document, verify
from fedabm.specs.settlement import SettlementTerms
from fedabm.strategies import FixedShare
from tests.mechanisms.test_mechanisms import PROMISING

CURVE, NAMES = PowerLaw(2.0, 0.5, 9.0, 0.9), ("north", "south", "west")
COSTS, DATA = (0.02, 0.03, 0.05), np.array([20.0, 30.0, 40.0])
SETTLED = {
    name: rule
    for name, rule in PROMISING.items()
    if rule.needs != "scores" and not rule.asks_eagerness and not rule.asks_losses
}
STUDY = """
accuracy = { kind = "power_law", scale = 2.0, exponent = 0.5, offset = 9.0, ceiling = 0.9 }
mechanisms = { sharing = { kind = "cost_sharing", rate = 0.4 }, shares = "shapley_share" }
owners = [
  { name = "north", cost = 0.02, data = 20 }, { name = "south", cost = 0.03, data = 30 },
  { name = "west", cost = 0.05, data = 40 },
]
[settlement]
step = "month"
bill = "each step"
mechanism = "shares"
"""


def contract(rule=None, **terms):
    return Contract(rule or ShapleyShare(), CURVE, NAMES, DATA, COSTS, SettlementTerms(**terms))


def log(claims, **more):
    rounds, owners = np.shape(claims)
    columns = {"round": np.repeat(np.arange(1, rounds + 1), owners), "owner": NAMES[:owners] * rounds}
    return pd.DataFrame({**columns, "samples": np.ravel(claims), **more})


@pytest.mark.parametrize("name", SETTLED)
def test_statements_are_what_the_rule_pays_in_the_game(name):
    rule = SETTLED[name]
    claims = np.array([[5.0, 10.0, 40.0], [0.0, 30.0, 7.0]])
    made = settle(contract(rule, bill="each step"), log(claims))
    game = Game(CURVE, COSTS, DATA, rule)
    np.testing.assert_allclose(made.payments, [game.payments(row) for row in claims], rtol=0, atol=1e-12)
    if rule.budget_balanced:
        assert abs(made.totals.sum()) < 1e-12
        assert made.outside == 0.0
    flows = made.transfers()
    received = [flows.amount[flows.payee == one].sum() - flows.amount[flows.payer == one].sum() for one in NAMES]
    np.testing.assert_allclose(received, made.totals, atol=1e-9)


def test_a_year_at_once_is_another_bill_and_the_study_has_to_say_which():
    claims = np.tile([5.0, 10.0, 40.0], (12, 1))
    with pytest.raises(InputError, match="12 rounds and the study does not say how they are billed"):
        settle(contract(), log(claims))
    monthly, yearly = (settle(contract(bill=bill), log(claims)) for bill in ("each step", "all steps"))
    year = Game(CURVE, COSTS, 12 * DATA, ShapleyShare()).payments(12 * claims[0])
    np.testing.assert_allclose(yearly.totals, year, atol=1e-12)
    assert np.abs(monthly.totals - yearly.totals).max() > 0.5
    assert yearly.frame()["round"].tolist() == ["1-12"] * 3


def test_costs_may_stand_in_the_log_and_are_missed_where_a_rule_asks_for_them():
    claims = [[5.0, 10.0, 40.0]]
    unstated = Contract(CostSharing(0.4), CURVE, NAMES, DATA, (None,) * 3)
    made = settle(unstated, log(claims, cost=list(COSTS)))
    np.testing.assert_allclose(made.totals, settle(contract(CostSharing(0.4)), log(claims)).totals, atol=1e-12)
    with pytest.raises(InputError, match="asks for costs, and that of north is stated neither"):
        settle(unstated, log(claims))


def test_claims_above_the_data_are_capped_paid_or_refused_as_the_terms_say():
    claims = [[5.0, 90.0, 40.0]]
    capped = settle(contract(), log(claims))
    np.testing.assert_allclose(capped.totals, settle(contract(), log([[5.0, 30.0, 40.0]])).totals, atol=1e-15)
    [doubt] = capped.doubts
    paid = settle(contract(beyond="pay"), log(claims))
    assert doubt["worth"] == pytest.approx(paid.totals[1] - capped.totals[1], abs=1e-12)
    assert (doubt["owner"], doubt["doubt"], doubt["instead"]) == ("south", "more than the 30 it has", 30.0)
    with pytest.raises(InputError, match="south claims 90 in round 1 and has 30"):
        settle(contract(beyond="error"), log(claims))


def test_who_has_no_row_is_an_error_claims_nothing_or_was_not_there():
    missing = log([[5.0, 10.0, 40.0]]).iloc[:2]
    with pytest.raises(InputError, match="no row of west in round 1"):
        settle(contract(), missing)
    zero, out = settle(contract(absent="zero"), missing), settle(contract(absent="out"), missing)
    np.testing.assert_allclose(zero.totals, settle(contract(), log([[5.0, 10.0, 0.0]])).totals, atol=1e-15)
    pair = Game(CURVE, COSTS[:2], DATA[:2], ShapleyShare()).payments([5.0, 10.0])
    np.testing.assert_allclose(out.totals, [*pair, 0.0], atol=1e-12)
    assert [one["doubt"] for one in zero.doubts] == ["no row in this round"]
    assert out.frame()["owner"].tolist() == ["north", "south"]


def test_rejected_updates_are_settled_as_claims_of_nothing_and_jumps_are_said():
    claims = np.array([[5.0, 10.0, 40.0], [5.0, 10.0, 4.0], [5.0, 10.0, 40.0]])
    made = settle(contract(bill="each step"), log(claims, rejected=["no", "yes", ""] + ["no"] * 6))
    alike = settle(contract(), log([[5.0, 0.0, 40.0]]))
    np.testing.assert_allclose(made.payments[0], alike.totals, atol=1e-15)
    said = {(one["round"], one["owner"]): one for one in made.doubts}
    assert set(said) == {(1, "south"), (2, "west")}
    whole = settle(contract(), log([[5.0, 10.0, 40.0]]))
    assert said[1, "south"]["worth"] == pytest.approx(whole.totals[1] - alike.totals[1], abs=1e-12)
    assert said[2, "west"]["doubt"] == "jumps from 40, its median in other rounds"
    assert said[2, "west"]["worth"] < 0


def test_values_of_accuracy_are_the_money_of_the_statement(tmp_path: Path):
    valued = STUDY.replace("data = 20", "data = 20, value = 1000").replace("data = 30", "data = 30, value = 2000")
    (tmp_path / "study.toml").write_text(valued.replace("data = 40", "data = 40, value = { low = 100, high = 300 }"))
    made = settle(tmp_path / "study.toml", log([[5.0, 10.0, 40.0]]))
    worth = Valued(CURVE, LinearPayoff([1000.0, 2000.0, 200.0]))
    np.testing.assert_allclose(made.totals, Game(worth, COSTS, DATA, ShapleyShare()).payments([5, 10, 40]), atol=1e-9)
    assert made.contract.uncertain == ("value of west",)
    assert "verified" in verify(json.loads(json.dumps(document(made))))


def test_outside_money_is_shown_where_a_rule_is_not_balanced():
    made = settle(contract(PaymentRule(lambda accuracy, reports: 0.1 * reports.contribution)), log([[5.0, 10.0, 40.0]]))
    assert made.outside == pytest.approx(5.5)
    assert set(made.transfers().payer) == {"outside"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("round,owner,samples\n1,north,nan\n", "row 2, column 'samples' must be a finite number"),
        ("round,owner,samples\n1,north,-3\n", "row 2, column 'samples' must be at least 0"),
        ("round,owner,samples\n1,north,\n", "row 2, column 'samples' is empty"),
        (
            "round,owner,samples\n1,nort,5\n",
            "row 2, column 'owner': the study has no owner 'nort'; did you mean 'north'",
        ),
        ("round,owner,samples\n1,north,5\n1,north,6\n", "row 3, column 'owner': a second claim for this round"),
        ("round,owner,samples\n1.5,north,5\n", "row 2, column 'round' must be a whole number"),
        ("round,owner,samples,rejected\n1,north,5,perhaps\n", "row 2, column 'rejected' must be yes or no"),
        ("round,owner\n1,north\n", "no column 'samples'"),
        ("round,owner,samples,colour\n1,north,5,red\n", "column 'colour' that means nothing"),
        ("round,owner,samples,num-examples\n1,north,5,5\n", "two columns of samples"),
        ("", "is empty"),
    ],
)
def test_bad_logs_get_one_line_with_file_row_and_column_and_nothing_is_written(
    tmp_path, capsys, monkeypatch, text, told
):
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(text)
    Path("study.toml").write_text(STUDY)
    assert main(["settle", "study.toml", "log.csv"]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "log.csv" in said
    assert said.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log.csv", "study.toml"]


def test_the_command_writes_a_statement_that_anybody_verifies(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    log([[5.0, 10.0, 90.0], [5.0, 10.0, 40.0]]).to_csv("log.csv", index=False)
    assert main(["settle", "study.toml", "log.csv"]) == 0
    assert "what is paid and what is received sum to zero" in capsys.readouterr().out
    assert main(["settle", "--verify", "log.statement.json"]) == 0
    assert "verified: 2 bills of 3 owners" in capsys.readouterr().out
    told = json.loads(Path("log.statement.json").read_text())
    table = pd.read_csv("log.statement.csv")
    assert table.groupby("owner").payment.sum().to_dict() == pytest.approx(told["totals"])
    told["totals"]["north"] += 0.01
    Path("forged.json").write_text(json.dumps(told))
    assert main(["settle", "--verify", "forged.json"]) == 2
    told["claims"][0]["samples"] = 6.0
    Path("forged.json").write_text(json.dumps(told))
    assert main(["settle", "--verify", "forged.json"]) == 2
    said = capsys.readouterr().err
    assert "totals are not what its inputs give" in said
    assert "the digest is not that of its inputs" in said
    assert main(["settle", "study.toml", "log.csv", "--mechanism", "sharing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["contract"]["mechanism"]["kind"] == "cost_sharing"


def adopted(study, mechanism=None):
    """What rule a study settles, and with which of the files in this folder."""
    Path("study.toml").write_text(study)
    log([[5.0, 10.0, 40.0]]).to_csv("log.csv", index=False)
    words = [] if mechanism is None else ["--mechanism", mechanism]
    assert main(["settle", "study.toml", "log.csv", *words, "--json"]) == 0


def test_a_recommended_rule_is_settled_as_it_was_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("advice").mkdir()
    Path("advice/recommendation.json").write_text(json.dumps({"mechanism": {"kind": "cost_sharing", "rate": 0.7}}))
    open_study = STUDY.replace('mechanism = "shares"', "").replace('shares = "shapley_share"', 'other = "clarke"')
    adopted(open_study, "advice/recommendation.json")
    expected = {"kind": "cost_sharing", "rate": 0.7}
    assert json.loads(capsys.readouterr().out)["contract"]["mechanism"] == expected
    adopted(STUDY.replace('"shares"\n', '"advice/recommendation.json"\n'))
    assert json.loads(capsys.readouterr().out)["contract"]["mechanism"] == expected
    assert main(["settle", "--verify", "log.statement.json"]) == 0
    adopted(
        "\n".join(line for line in STUDY.split("\n") if "mechanism" not in line),
        "{ kind = 'cost_sharing', rate = 0.7 }",
    )
    said = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert said["contract"]["mechanism"] == expected


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("{}", "recommends nothing"),
        ('{"mechanism": null}', "no rule keeps all conditions"),
        ("[", "is not valid JSON"),
        (None, "cannot read"),
    ],
)
def test_a_recommendation_that_names_no_rule_is_refused(tmp_path, capsys, monkeypatch, content, line):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    log([[5.0, 10.0, 40.0]]).to_csv("log.csv", index=False)
    if content is not None:
        Path("advice.json").write_text(content)
    assert main(["settle", "study.toml", "log.csv", "--mechanism", "advice.json"]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_a_rule_on_the_command_line_is_never_ignored(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    several = 'mechanisms = { sharing = { kind = "cost_sharing", rate = 0.4 }, shares = "shapley_share" }'
    adopted(STUDY.replace(several, 'mechanism = "clarke"').replace('mechanism = "shares"', ""), "shapley_share")
    assert json.loads(capsys.readouterr().out)["contract"]["mechanism"] == "shapley_share"


@pytest.mark.parametrize("name", SETTLED)
def test_every_statement_verifies_from_its_document_alone(name):
    if name != "PaymentRule":  # a rule of one's own stands in a file, not in the document
        made = settle(contract(SETTLED[name]), log([[5.0, 10.0, 40.0]]))
        assert "verified" in verify(json.loads(json.dumps(document(made))))


def test_parquet_recorder_and_folders_of_frames_give_the_statement_of_the_same_csv(tmp_path: Path):
    table = log([[1.0 / 3.0, 10.0, 40.0], [5.0, 10.0, 4.0]])
    table.to_csv(tmp_path / "log.csv", index=False)
    table.to_parquet(tmp_path / "log.parquet")
    recorder = ReplyRecorder()
    for row in table.itertuples():
        recorder.record(row.round, row.owner, row.samples, {"loss": 0.5})
    recorder.write(tmp_path / "recorded.csv")
    made = [settle(contract(bill="each step"), tmp_path / one) for one in ("log.csv", "log.parquet", "recorded.csv")]
    assert made[0].payments.tolist() == made[1].payments.tolist() == made[2].payments.tolist()

    people = population(COSTS, DATA, [FixedShare(share) for share in (0.2, 0.5, 1.0)], names=NAMES)
    frames = Federation(Scenario(people, CURVE, ShapleyShare(), steps=2)).run().frames()
    save(frames, tmp_path / "run", {"scenario": "log"})
    played = settle(contract(bill="each step"), tmp_path / "run")
    np.testing.assert_allclose(played.payments.ravel(), frames.owners["payment"], atol=1e-12)


def test_runs_of_mlflow_one_per_site_give_the_same(tmp_path: Path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # which needs no seconds to set up a data base
    address = (tmp_path / "runs").as_uri()
    client = mlflow.MlflowClient(tracking_uri=address)
    experiment = client.create_experiment("bank pilot", (tmp_path / "files").as_uri())
    claims = np.array([[5.0, 10.0, 40.0], [5.0, 10.0, 4.0]])
    for owner, name in enumerate(NAMES):
        run = client.create_run(experiment, tags={"owner": name}).info.run_id
        for step in range(2):
            client.log_metric(run, "num_examples", claims[step, owner], step=step + 1)
    made = settle(contract(bill="each step"), f"mlflow:{address}", experiment="bank pilot")
    assert made.payments.tolist() == settle(contract(bill="each step"), log(claims)).payments.tolist()
    with pytest.raises(InputError, match="no experiment 'fedabm'"):
        settle(contract(bill="each step"), f"mlflow:{address}")


class Reply:
    """A message as the recorder sees it."""

    def __init__(self, node, content):
        self.metadata, self.content = type("Metadata", (), {"src_node_id": node}), content

    def has_error(self):
        return self.content is None


def test_a_watched_strategy_aggregates_as_before_and_every_reply_is_kept():
    class Strategy:
        def aggregate_train(self, server_round, replies):
            return server_round, len(replies)

    recorder = ReplyRecorder(name=lambda message: NAMES[message.metadata.src_node_id])
    strategy = recorder.watch(Strategy())
    replies = [Reply(0, {"num-examples": 5.0, "loss": 0.1}), Reply(1, {"num-examples": 10.0}), Reply(2, None)]
    assert strategy.aggregate_train(1, iter(replies)) == (1, 3)
    assert [row["rejected"] for row in recorder.rows] == [False, False, True]
    recorder.reject(1, "south")
    assert recorder.text().splitlines() == [
        "round,owner,samples,rejected,metric.loss",
        "1,north,5.0,no,0.1",
        "1,south,10.0,yes,",
        "1,west,0.0,yes,",
    ]
    with pytest.raises(InputError, match="said no num-examples in round 2"):
        recorder.replies(2, [Reply(0, {"loss": 0.1})])
