"""The recorded league: parts go on where they were broken off, damage is noticed, verdicts follow intervals."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm import InputError
from fedabm.auditing import recording
from fedabm.auditing.league import League
from fedabm.auditing.league_page import league_page, write_league
from fedabm.auditing.parts import TELLING, Part, parts
from fedabm.auditing.pictures import league_picture, survival_picture
from fedabm.auditing.recording import read_league, record_part, states
from fedabm.auditing.survival import sentences, survival, verdict
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
    assert "under 2 of 2 rules, most under A: 20.1% [19.9%, 20.3%]" in truth
    assert "the paired difference is 10.0% [10.0%, 10.0%]" in attacks
    assert "survived by FedAMP: 11 of 11" in survivor
    assert "changes by -0.100 [-0.100, -0.100] under FedAMP (2 seeds, which also chose the rule)" in survivor
    files = {path.name for path in write_league(found, tmp_path / "page")}
    assert {"league.html", "survival.pdf", "survival.png", "heat-mnist.pdf", "definitive.csv"} <= files
    assert "Everything that was planned is recorded." in (tmp_path / "page" / "league.html").read_text("utf-8")


def test_rules_that_survive_as_much_are_all_named(planned):
    rows = played(MNIST, "NoPayments", (0, 1))
    twin = {name: table.replace("NoPayments", "FedAMP") for name, table in rows.items()}
    found = League(*(pd.concat([rows[name], twin[name]]) for name in ("rows", "achieved")))
    assert "survived by FedAMP and NoPayments: 0 of 11" in sentences({"mnist": found})[2]


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
    assert re.search(r"fined by the square .*: FACT on MNIST \(-50,000\)", page)
    assert re.search(r"fines have no bound.*: FedSV on MNIST \(-50,000\)", page)


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
    found = League(played(CLOSED, "NoPayments", (0, 1, 2))["rows"])
    assert survival(found).loc["NoPayments"].tolist() == ["pays and harms"] * 2
    (ax,) = survival_picture({"closed": found}).axes
    assert [text.get_text() for text in ax.texts] == ["ph", "ph"]


def test_the_commands_show_the_plan_and_refuse_what_does_not_belong(tmp_path, capsys):
    assert main(["record", "league", "--plan", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "fedabm record league --part closed-0" in printed
    assert printed.count("missing") == len(parts())
    assert main(["record", "league", "--part", "closed-9", "--out", str(tmp_path)]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["record", "tournament", "--plan"]) == 2
    assert main(["record", "league", "--seed", "3"]) == 2
