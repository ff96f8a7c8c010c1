"""The ODD protocol: seven elements, told by what a scenario is, so that the text changes when the scenario does."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedabm import Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.cli import main
from fedabm.cli.describe import described, run
from fedabm.cli.parsers import command_line
from fedabm.common.errors import InputError
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.report.odd.blocks import Element, Equation, Listing, Rows
from fedabm.report.odd.protocol import Described, elements
from fedabm.report.odd.senses import entries_read
from fedabm.report.odd.text import latex, markdown
from fedabm.report.page import page
from fedabm.results.columns import Column
from fedabm.results.keep import Recording
from fedabm.simulation import Sequential
from fedabm.strategies import BestResponse, FreeRider, Liar
from fedabm.study.library import find

SEVEN = (
    "Purpose and patterns",
    "Entities, state variables and scales",
    "Process overview and scheduling",
    "Design concepts",
    "Initialisation",
    "Input data",
    "Submodels",
)
CONCEPTS = "Basic principles|Emergence|Adaptation|Objectives|Learning|Prediction|Sensing|Interaction|Stochasticity|"
CONCEPTS += "Collectives|Observation"
BASE = Scenario(population([0.01, 0.02], [30.0, 40.0]), PowerLaw(exponent=0.5), ContributionSubsidy(0.013))


def text(scenario: Scenario = BASE, **changes: object) -> str:
    model = Described("Who gives?", (("rate", "0.013", "the subsidy"),), 3, (("subsidy", scenario),))
    return markdown("A study", elements(replace(model, **changes)))


@pytest.fixture(scope="module")
def free_riding() -> str:
    return markdown("free_riding", elements(described(find("free_riding"), [])))


def test_a_scenario_of_the_library_has_all_seven_elements_and_eleven_concepts(free_riding) -> None:
    assert re.findall(r"^## \d (.*)$", free_riding, re.MULTILINE) == list(SEVEN)
    assert "|".join(re.findall(r"^### 4\.\d+ (.*)$", free_riding, re.MULTILINE)) == CONCEPTS
    assert "Doshi et al. 2025, eq. (7)" in free_riding
    assert "D06 of the reproduction ledger" in free_riding


def test_every_parameter_of_the_scenario_stands_there_with_its_value_and_meaning(free_riding) -> None:
    script = find("free_riding")
    for name, value in script.parameters([]).items():
        assert re.search(rf"^\| {name} \| {value:g}(\.0)? \| \S", free_riding, re.MULTILINE)
    changed = markdown("free_riding", elements(described(script, ["owners=17", "rate=0.031"], seed=5)))
    assert "- owners (17, agents of Owner)" in changed
    assert "| rate | 0.031 |" in changed
    assert "subsidy 0.031: 17 owners" in changed
    assert "seed 5" in changed


def test_numbers_of_owners_are_those_of_the_scenario() -> None:
    told = text()
    assert "| capacity | 30 to 40, mean 35 |" in told
    assert "| cost: rate | 0.01 to 0.02, mean 0.015 |" in told
    assert "at most 200 steps" in told
    assert "at most 7 steps" in text(replace(BASE, steps=7))


def test_every_number_of_the_tables_is_that_of_the_scenario() -> None:
    """Parameters are read back from the text, also those of parts within parts, and changed one by one."""
    base = replace(BASE, owners=population([0.01, 0.02], [30.0, 40.0], Liar(BestResponse(0.5), cost_factor=3.0)))
    told = text(base)
    for part, wanted in (
        ("mechanism: ContributionSubsidy", {"rate": 0.013}),
        ("accuracy: PowerLaw", {"scale": 1.0, "exponent": 0.5, "offset": 1.0, "ceiling": 1.0}),
        ("strategy: Liar", {"truth.rationality": 0.5, "cost_factor": 3.0, "size_factor": 1.0}),
        ("strategy: BestResponse", {"rationality": 0.5}),
    ):
        section = re.search(rf"^### 7\.\d+ {part}\n(.*?)(?=^### |\Z)", told, re.MULTILINE | re.DOTALL)
        rows = dict(re.findall(r"^\| ([\w.]+) \| ([\d.]+) \| \S", section[1], re.MULTILINE))
        assert {name: float(rows[name]) for name in wanted} == wanted
    assert "| rate | 0.01, 0.02 | Cost of the first unit, per owner. |" in told
    lower = text(replace(base, accuracy=PowerLaw(exponent=0.25), mechanism=ContributionSubsidy(0.5)))
    assert "| exponent | 0.25 |" in lower
    assert "| rate | 0.5 |" in lower
    assert "| exponent | 0.5 |" not in lower


def test_what_strategies_look_at_is_read_off_their_code() -> None:
    assert entries_read(FreeRider()) == ("capacity",)
    assert entries_read(BestResponse()) == ("last", "payoff", "curve_known")  # the last in a function beside it
    assert "BestResponse: takes the others' last reports to stand" in text()
    riders = text(replace(BASE, owners=population([0.01, 0.02], 30.0, FreeRider())))
    assert "No strategy of these runs looks ahead." in riders
    assert "- Liar reads cost, eagerness, and what FreeRider does" in text(
        replace(BASE, owners=population([0.01, 0.02], 30.0, Liar(FreeRider())))
    )


def test_private_facts_and_units_stand_there_and_what_is_kept() -> None:
    told = text()
    assert "| budget | The money it has; it cannot pay more than that. |" in told
    assert "| contribution | data | float |" in told
    assert "Of these every step and all owners are kept." in told
    sparse = text(replace(BASE, record=Recording(every=10, owners=1)))
    assert "Of these every 10th step and a random sample of 1 owners are kept." in sparse


def test_a_run_leaves_its_description_and_the_report_shows_it(tmp_path: Path, free_riding) -> None:
    out = tmp_path / "out"
    assert main(["run", "free_riding", "--set", "owners=7", "--quiet", "--out", str(out)]) == 0
    told = (out / "odd.md").read_text("utf-8")
    assert "- owners (7, agents of Owner)" in told
    same = markdown("free_riding: ODD protocol", elements(described(find("free_riding"), ["owners=7"])))
    assert told.partition("## 2 ")[2] == same.partition("## 2 ")[2]
    assert told.strip() in html.unescape(page(out))


def test_networks_and_recipes_are_told_with_all_their_numbers() -> None:
    told = markdown("x", elements(described(find("first_training"), [])))
    for row in (
        "engine.network | 'logistic'",
        "recipe.batch | 10",
        "recipe.optimiser.rate | 0.1",
        "engine.weights | 650",
    ):
        assert f"| {row} |" in told
    assert " at 0x" not in told
    assert "object>" not in told


def test_another_column_strategy_and_activation_change_the_text() -> None:
    column = Column("steps", "largest", lambda round: round.contribution.max(axis=-1), "the largest of them", unit="t")
    assert "| largest | t | float | the largest of them |" in text(replace(BASE, columns=(column,)))
    assert "| largest |" not in text()
    rider = replace(BASE, owners=population([0.01, 0.02], 30.0, [BestResponse(), FreeRider()]))
    assert "strategy: FreeRider" in text(rider)
    assert "1 x FreeRider()" in text(rider)
    assert "FreeRider" not in text()
    assert "act by Sequential()" in text(replace(BASE, activation=Sequential()))
    assert "act by Simultaneous()" in text()


def test_the_round_is_told_in_the_order_in_which_it_is_played() -> None:
    told = text()
    places = [told.index(f"\n- {phase}: ") for phase in ("arrive", "decide", "learn", "settle", "receive", "collect")]
    assert places == sorted(places)


def test_runs_with_different_rules_have_all_their_submodels() -> None:
    runs = (("none", replace(BASE, mechanism=NoPayments())), ("subsidy", BASE))
    told = text(runs=runs)
    assert told.count("mechanism: ") == 2
    assert told.count("accuracy: PowerLaw") == 1


def test_data_that_models_train_on_are_named_with_a_checksum() -> None:
    model = described(find("first_training"), ["preset=quick"] if "preset" in find("first_training").defaults else [])
    told = markdown("first_training", elements(model))
    assert re.search(r"\| .* samples of shape .* \| [0-9a-f]{16} \|", told)
    assert "The model reads no data" in text()


def test_latex_has_the_same_sections_and_closes_what_it_opens() -> None:
    parts = [
        Element("A_b & c", ("50% of {x}", Listing(("one",)), Equation("a_i = 1"), Rows(("p", "q"), (("1", "2"),))))
    ]
    made = latex("T", parts)
    assert r"\section{A\_b \& c}" in made
    assert r"50\% of \{x\}" in made
    assert "a_i = 1" in made
    opened, closed = (re.findall(rf"\\{word}{{(\w+)}}", made) for word in ("begin", "end"))
    assert sorted(opened) == sorted(closed)
    assert latex("T", elements(described(find("free_riding"), []))).count(r"\section{") == len(SEVEN)


def test_files_are_written_by_their_endings_and_wrong_places_refused(tmp_path: Path, capsys) -> None:
    words = ["describe", "free_riding", "--odd", "--write", f"{tmp_path}/a.md", "--write", f"{tmp_path}/a.tex"]
    options = command_line().parse_args(words)
    run(options)
    assert (tmp_path / "a.md").read_text().startswith("# free_riding: ODD protocol\n")
    assert (tmp_path / "a.tex").read_text().startswith(r"\documentclass")
    with pytest.raises(InputError, match="no such folder"):
        run(command_line().parse_args(["describe", "free_riding", "--write", f"{tmp_path}/no/a.md"]))
    with pytest.raises(InputError, match="neither simulates nor solves"):
        described(find("best_lie"), [])


EVIL = "Who \x1b[31m <img src=x> [a](javascript:z) \u202e | ![p](q)"


def test_no_text_of_a_user_is_markup_or_hidden() -> None:
    elements_ = (
        Element(EVIL, (EVIL, Equation(f"{EVIL}\n```\n<b>"), Listing((EVIL,)), Rows((EVIL, "b"), ((EVIL, "`a|b`"),)))),
    )
    told = markdown(EVIL, elements_)
    assert not set(told + latex(EVIL, elements_)) & set("\x1b\u202e")
    outside = re.sub(r"^````text\n.*?^````$", "", told, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"<|(?<!\\)\[|(?<!\\)\]", outside)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in outside.splitlines() if line.startswith("|")} == {3}
    assert "| `a\\|b` |" in told
    assert (
        markdown("free_riding", [Element("a `b c` d", ("x `y` z",))]) == "# free_riding\n\n## 1 a `b c` d\n\nx `y` z\n"
    )
