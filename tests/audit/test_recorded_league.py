"""The recorded league: parts go on where they were broken off, damage is noticed, verdicts follow intervals."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm import InputError
from fedabm.auditing import recording
from fedabm.auditing.attacks import ATTACKS
from fedabm.auditing.behaviours import TRAINED_WORDS, described
from fedabm.auditing.league import COLUMNS, League
from fedabm.auditing.league_page import commits, league_page, write_league
from fedabm.auditing.parts import TELLING, Part, parts
from fedabm.auditing.pictures import league_picture, survival_picture
from fedabm.auditing.play import BEHAVIOURS
from fedabm.auditing.recording import read_league, record_part, states
from fedabm.auditing.survival import UNREAD, apart, same_as_baseline, sentences, survival, verdict
from fedabm.auditing.trained import TRAINED
from fedabm.cli import main

PLAN = Path(__file__).parents[2] / "analysis" / "recorded" / "PLAN.md"
MADE_BY = {"commit": "0" * 40, "machine": {}, "versions": {}}
CLOSED = Part("closed-0", "closed", ("A", "NoPayments"), (0, 1, 2))
MNIST = Part("mnist-0", "mnist", ("FedAMP", "NoPayments"), (0, 1))


def played(part, rule, seeds):
    """Made-up numbers, other ones for each rule and seed."""
    what = ("best lie", "claim") if part.world == "closed" else TRAINED
    size = {"A": 0.2, "FedAMP": 0.0}.get(rule, 0.1)
    rows = [
        {"rule": rule, "seed": seed, "deviation": one, "gain": size + 1e-3 * seed, "loss": size, "stake": 1.0}
        | {"bound": np.inf, "words": ""}
        for seed in seeds
        for one in what
    ]
    scheme = "closed" if part.world == "closed" else "trained"
    reached = [
        {"rule": rule, "scheme": scheme, "seed": seed, "tuned": "", "measure": "welfare", "value": size, "note": ""}
        for seed in seeds
    ]
    return {"rows": pd.DataFrame(rows), "achieved": pd.DataFrame(reached)}


@pytest.fixture
def planned(monkeypatch):
    """A small plan, and what was played so far."""
    asked = []

    def noted(part, rule, seeds):
        asked.append((part.name, rule))
        return played(part, rule, seeds)

    monkeypatch.setattr(recording, "parts", lambda: [CLOSED, MNIST])
    monkeypatch.setattr(recording, "_played", noted)
    return asked


def test_the_plan_is_what_the_text_says_and_within_its_limits():
    known, text = parts(), PLAN.read_text("utf-8")
    assert sum(part.hours for part in known) <= 12
    assert max(part.hours for part in known) <= 1.5
    rules = {rule for part in known for rule in part.rules}
    assert len(rules) >= 25
    assert len({seed for part in known if part.world == "closed" for seed in part.seeds}) == 20
    for world in ("mnist", "cifar10", "sent140"):
        mine = [part for part in known if part.world == world]
        assert len(mine) >= 5
        first, last, hours = mine[0].name, mine[-1].name, mine[0].hours
        assert re.search(rf"`{first}` to `{last}` .*{len(mine)} x {hours:g} \|", text)
        assert all(part.rules == TELLING for part in mine) == (world != "mnist")
    closed = [set(part.rules) for part in known if part.world == "closed"]
    assert sum(map(len, closed)) == len(set.union(*closed))


def test_a_part_that_was_broken_off_goes_on_and_reads_as_one_that_was_not(tmp_path, planned, monkeypatch):
    whole = record_part(CLOSED, tmp_path / "whole", MADE_BY, lambda line: None)
    said = []

    def killed(line):
        said.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record_part(CLOSED, tmp_path / "parts", MADE_BY, killed)
    assert dict(states(tmp_path / "parts"))[CLOSED] == "begun: 1 of 2"
    planned.clear()
    again = record_part(CLOSED, tmp_path / "parts", MADE_BY, said.append)
    assert planned == [("closed-0", "NoPayments")]
    for name in ("rows.csv", "achieved.csv"):
        assert (whole / name).read_bytes() == (again / name).read_bytes()
    assert {path.name for path in again.iterdir()} == {"rows.csv", "achieved.csv", "manifest.json"}
    with pytest.raises(InputError, match="is there already"):
        record_part(CLOSED, tmp_path / "parts", MADE_BY, said.append)


def test_what_another_commit_began_is_begun_anew(tmp_path, planned):
    def killed(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record_part(CLOSED, tmp_path, MADE_BY, killed)
    planned.clear()
    record_part(CLOSED, tmp_path, MADE_BY | {"commit": "1" * 40}, lambda line: None)
    assert [rule for _, rule in planned] == ["A", "NoPayments"]


def test_damage_is_noticed_and_what_is_missing_is_said(tmp_path, planned):
    place = record_part(CLOSED, tmp_path, MADE_BY, lambda line: None)
    found = read_league(tmp_path)
    assert [part.name for part in found.missing] == ["mnist-0"]
    page = league_page(found)
    assert "fedabm record league --part mnist-0" in page
    assert "What attacks cost is not recorded on two seeds yet." in page
    table = (place / "rows.csv").read_text()
    (place / "rows.csv").write_text(table.replace("0.2", "0.3", 1))
    with pytest.raises(InputError, match=r"not as recorded; .* run fedabm record league --part closed-0"):
        read_league(tmp_path)


def test_page_figures_and_sentences_of_what_is_there(tmp_path, planned):
    for part in (CLOSED, MNIST):
        record_part(part, tmp_path, MADE_BY, lambda line: None)
    found = read_league(tmp_path)
    assert not found.missing
    truth, attacks, survivor = sentences(found.worlds)
    assert "under 1 of 1 rules, most under A: 20.1% [19.9%, 20.3%]" in truth
    assert "Not counted: NoPayments itself (3 populations)" in truth
    assert "the paired difference of the first two is 10.0% [10.0%, 10.0%]" in attacks
    assert "of 2 federated rules most behaviours are survived by FedAMP (11 of 11)" in survivor
    assert "changes by -0.100 [-0.100, -0.100] under FedAMP (2 seeds, which also chose the rule)" in survivor
    files = {path.name for path in write_league(found, tmp_path / "page")}
    assert {"league.html", "survival.pdf", "survival.png", "heat-mnist.pdf", "definitive.csv"} <= files
    assert "Everything that was planned is recorded." in (tmp_path / "page" / "league.html").read_text("utf-8")


def test_rules_that_survive_as_much_are_all_named(planned):
    rows = played(MNIST, "NoPayments", (0, 1))
    other = {name: table.replace("NoPayments", "FedAMP") for name, table in rows.items()}
    other["achieved"]["value"] += 0.1
    found = League(*(pd.concat([rows[name], other[name]]) for name in ("rows", "achieved")))
    said = sentences({"mnist": found})[2]
    assert "survived by FedAMP (0 of 11) and NoPayments (0 of 11)" in said
    assert "changes by +0.100 [+0.100, +0.100] under FedAMP (2 seeds" in said


def joined(*leagues):
    return League(*(pd.concat([one[name] for one in leagues]) for name in ("rows", "achieved")))


def test_a_rule_that_is_no_payments_here_is_counted_apart():
    """C has the numbers of NoPayments; it is not among the rules of a sentence, and its row comes last."""
    seeds = (0, 1, 2)
    base, pays = played(CLOSED, "NoPayments", seeds), played(CLOSED, "A", seeds)
    twin = {name: table.replace("NoPayments", "C") for name, table in base.items()}
    found = joined(twin, base, pays)
    assert same_as_baseline(found) == ["C"]
    assert apart(found) == {"C": "is NoPayments here"}
    said = sentences({"closed": found})[0]
    assert "under 1 of 1 rules, most under A" in said
    assert "Not counted: NoPayments itself, and what is NoPayments here, as tuned: C (3 populations)" in said
    assert survival(found).index[-1] == "C"
    for table, column in (("rows", "gain"), ("achieved", "value")):  # one number that differs, and it is a rule
        other = {name: one.copy() for name, one in twin.items()}
        other[table].loc[0, column] += 1e-3
        assert same_as_baseline(joined(other, base, pays)) == []
    wrong = twin["achieved"].assign(measure="welfare, costs wrong", value=9.0)
    less = base["achieved"].assign(measure="welfare, costs wrong", value=1.0)
    mistaken = League(found.rows, pd.concat([found.achieved, wrong, less]))
    assert same_as_baseline(mistaken) == ["C"]  # as judged, whatever another server would have tuned


def test_what_is_not_read_is_not_survived_and_no_federation_is_a_baseline():
    """Two of eleven behaviours change nothing under FedAMP; alone nothing changes but one."""
    seeds = (0, 1)
    base, trades, alone = (played(MNIST, rule, seeds) for rule in ("NoPayments", "FedAMP", "LocalOnly"))
    trades["rows"].loc[trades["rows"]["deviation"].isin(TRAINED[:2]), ["gain", "loss"]] = 0.0
    alone["rows"].loc[alone["rows"]["deviation"] != TRAINED[-1], ["gain", "loss"]] = 0.0
    alone["rows"].loc[alone["rows"]["deviation"] == TRAINED[-1], ["gain", "loss"]] = 0.01
    found = joined(base, trades, alone)
    verdicts = survival(found)
    assert verdicts.loc["FedAMP"].tolist() == [UNREAD] * 2 + ["survives"] * 9
    assert apart(found) == {"LocalOnly": "no federation"}
    said = sentences({"mnist": found})[2]
    assert "of 2 federated rules most behaviours are survived by FedAMP (9 of 9, as 2 change nothing there)" in said
    assert "LocalOnly, which is no federation, survives 1 of 1, as 10 change nothing there" in said
    one_seed = trades["rows"]["seed"] == 0
    trades["rows"].loc[one_seed, "gain"] += 1e-9  # what is read in one seed can fail
    assert survival(joined(base, trades)).loc["FedAMP"].tolist() == ["survives"] * 11


def test_in_closed_form_a_gain_of_nothing_is_survival_and_harm_is_shared_by_the_others():
    """Closed forms look for the best of each kind, and add up what the other five lose: 0.2 is 0.04 for each."""
    part = played(CLOSED, "NoPayments", (0, 1, 2))["rows"]
    assert survival(League(part.assign(gain=0.0, loss=0.0))).loc["NoPayments"].tolist() == ["survives"] * 2
    assert survival(League(part.assign(gain=0.0, loss=0.2))).loc["NoPayments"].tolist() == ["survives"] * 2
    assert survival(League(part.assign(gain=0.0, loss=0.3))).loc["NoPayments"].tolist() == ["harms"] * 2
    pair = part.assign(gain=0.0, loss=0.22, deviation="pair")
    assert survival(League(pair)).loc["NoPayments"].tolist() == ["harms"]  # four others: 0.055 each


def test_the_sentence_on_attacks_names_what_it_compares():
    """The mean of two rules that hand out models, 0 and 10%; not of one that hands the same one to all, nor alone."""
    seeds = (0, 1)
    rules = ("NoPayments", "FedAMP", "IAFL", "FedAvgExchange", "LocalOnly")
    said = sentences({"mnist": joined(*(played(MNIST, rule, seeds) for rule in rules))})[1]
    assert "5.0% [5.0%, 5.0%] on average over the 2 rules" in said
    assert "(FedAMP 0.0%, IAFL 10.0%); alone (LocalOnly, no federation) 10.0%" in said


def test_every_behaviour_is_in_words():
    assert {*BEHAVIOURS, *ATTACKS, *TRAINED} <= set(TRAINED_WORDS)
    assert [*described(COLUMNS, closed=True)] == [*COLUMNS]


def test_the_page_has_lies_parameters_differences_and_commits(tmp_path, planned, monkeypatch):
    mixed = Part("mnist-1", "mnist", ("FedAMP", "NoPayments"), (2,))
    monkeypatch.setattr(recording, "parts", lambda: [CLOSED, MNIST, mixed])
    for part, commit in ((CLOSED, "0" * 40), (MNIST, "1" * 40), (mixed, "2" * 40)):
        record_part(part, tmp_path, MADE_BY | {"commit": commit}, lambda line: None)
    found = read_league(tmp_path)
    (closed, one), (trained, several) = commits(found)
    assert (closed, one) == ("Closed half: all parts are of commit 0000000", False)
    assert several
    assert trained.endswith("1111111 (mnist-0); 2222222 (mnist-1)")
    page = league_page(found)
    assert page.count('class="warning"') == 1
    lies = re.search(r"<caption><span>What lies gain in closed form.*?</table>", page, re.DOTALL)[0]
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', lies) == ["rule", "gain: best lie"]
    assert "bound of the best lie: no bound is proven; no column here, as no rule has a number: bound of" in page
    assert re.search(r'<th scope="row">A</th><td class="number">0.201 ±0.002', lies)
    assert "Differences to NoPayments on MNIST" in page
    assert "Rules as they were tuned in closed form" in page
    assert "<dt>size x4</dt><dd>claims to have four times the data that it has</dd>" in page
    assert "ModelMarket too, are judged without their payments" in page
    assert "everybody responds honestly" not in page


def test_who_ends_off_the_scale_of_accuracy_is_named_with_a_reason(tmp_path, planned):
    for part in (CLOSED, MNIST):
        record_part(part, tmp_path, MADE_BY, lambda line: None)
    found = read_league(tmp_path)
    assert "far off the scale" not in league_page(found)
    fined = {"measure": "worst off", "value": -5e4, "scheme": "trained", "seed": 0, "tuned": "", "note": ""}
    made = found.there[1].found
    more = pd.DataFrame([{"rule": rule, **fined} for rule in ("FACT", "FedSV")])
    object.__setattr__(made, "achieved", pd.concat([made.achieved, more]))
    page = league_page(found)
    assert "fines had no bound in the code that was recorded. These are FACT on MNIST (-50,000), FedSV on MNIST" in page


def test_fines_without_bound_leave_other_colours_in_sight():
    rows = played(MNIST, "NoPayments", (0, 1))["rows"]
    rows.loc[0, "gain"] = -2e5
    left, _, bar = league_picture(League(rows)).axes
    assert bar.get_ylim() == pytest.approx((-1.0, 1.0))
    assert "-100k" in [text.get_text() for text in left.texts]


@pytest.mark.parametrize(
    ("gains", "losses", "said"),
    [
        ([0.0, 0.001, 0.0], [0.0, 0.001, 0.002], "survives"),
        ([0.2, 0.21, 0.2], [0.0, 0.001, 0.0], "pays"),
        ([-0.2, -0.21, -0.2], [0.2, 0.21, 0.2], "harms"),
        ([0.2, 0.21, 0.2], [0.2, 0.21, 0.2], "pays and harms"),
        ([0.0, 0.2, 0.1], [0.0, 0.0, 0.0], "open"),
        ([0.2], [0.2], "open"),
        ([np.nan, np.nan], [np.nan, np.nan], ""),
    ],
)
def test_verdicts_follow_intervals(gains, losses, said):
    assert verdict(pd.Series(gains), pd.Series(losses)) == said


def test_the_figure_has_a_sign_for_every_rule_and_behaviour():
    rows = played(CLOSED, "NoPayments", (0, 1, 2))["rows"].assign(loss=0.5)
    found = League(rows)
    assert survival(found).loc["NoPayments"].tolist() == ["pays and harms"] * 2
    (ax,) = survival_picture({"closed": found}).axes
    assert [text.get_text() for text in ax.texts] == ["ph", "ph"]
    alone = played(MNIST, "LocalOnly", (0, 1))
    alone["rows"].loc[:, ["gain", "loss"]] = 0.0
    (ax,) = survival_picture({"MNIST": joined(alone)}).axes
    assert [text.get_text() for text in ax.texts] == ["–"] * 11
    assert [label.get_text() for label in ax.get_yticklabels()] == ["LocalOnly (no federation)"]


def test_the_commands_show_the_plan_and_refuse_what_does_not_belong(tmp_path, capsys):
    assert main(["record", "league", "--plan", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "fedabm record league --part closed-0" in printed
    assert printed.count("missing") == len(parts())
    assert main(["record", "league", "--part", "closed-9", "--out", str(tmp_path)]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["record", "tournament", "--plan"]) == 2
    assert main(["record", "league", "--seed", "3"]) == 2


def test_a_trained_half_may_have_best_lies_and_what_is_not_read_as_nothing():
    """Nothing is read under FedAMP: no verdict; the best pair under NoPayments tells the truth, which is survival."""
    base, trades = (played(MNIST, rule, (0, 1)) for rule in ("NoPayments", "FedAMP"))
    more = []
    for rule, gain, words in (("NoPayments", 0.1, "claims twice"), ("FedAMP", np.nan, "skipped: nothing is read")):
        facts = {"rule": rule, "stake": 1.0, "bound": np.inf}
        for seed in (0, 1):
            more.append({**facts, "seed": seed, "deviation": "best lie", "gain": gain, "loss": np.nan, "words": words})
            more.append({**facts, "seed": seed, "deviation": "pair", "gain": 0.0, "loss": 0.0, "words": "the truth"})
    found = joined(base, trades)
    found = League(pd.concat([found.rows, pd.DataFrame(more)]), found.achieved)
    verdicts = survival(found)
    assert verdicts["best lie"].to_dict() == {"FedAMP": "", "NoPayments": "pays"}
    assert verdicts["pair"].tolist() == ["survives"] * 2
    record = recording.RecordedPart(MNIST, MADE_BY | {"seconds": 1.0}, found)
    page = league_page(recording.RecordedLeague([record], []))
    lies = re.search(r"<caption><span>What lies gain on MNIST.*?</table>", page, re.DOTALL)[0]
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', lies) == [
        "rule",
        "gain: best lie",
        "gain: pair",
        "harm: pair",
    ]
    assert "gain: best lie: nothing is read" in page
