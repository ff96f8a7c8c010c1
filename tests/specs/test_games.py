from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fedabm import mechanisms
from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.common.names import snake
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.mechanisms import ContributionSubsidy, Mechanism, ModelMarket, NoPayments
from fedabm.mechanisms.market import EuclideanDistance, LogarithmicGain
from fedabm.solving.equilibrium import solve
from fedabm.specs.games import read_game
from fedabm.specs.kinds import kinds
from fedabm.specs.values import Reader

EXAMPLE = """
mechanism = "no_payments"
accuracy = { kind = "power_law", scale = 1.0, exponent = 1.0, offset = 1.0 }
owners = { costs = [0.1, 0.25], capacity = 100 }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "game.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_is_a_game(tmp_path: Path) -> None:
    game = read_game(write(tmp_path, EXAMPLE))
    assert game.accuracy == PowerLaw()
    assert game.mechanism == NoPayments()
    assert game.capacities.tolist() == [100, 100]
    assert solve(game).profile == pytest.approx([10**0.5 - 1, 0])


def test_shapley_shares_of_the_example(tmp_path: Path) -> None:
    found = solve(read_game(write(tmp_path, EXAMPLE), "shapley_share"))
    assert found.profile == pytest.approx([2.99839298, 1.16904814], abs=1e-8)


def test_mechanism_can_be_replaced(tmp_path: Path) -> None:
    text = EXAMPLE.replace('"no_payments"', '{ kind = "contribution_subsidy", rate = 0.2 }')
    path = write(tmp_path, text)
    assert read_game(path).mechanism == ContributionSubsidy(0.2)
    assert read_game(path, "no_payments").mechanism == NoPayments()
    assert read_game(path, "contribution_subsidy").mechanism == ContributionSubsidy(0.2)
    with pytest.raises(InputError, match="needs rate"):
        read_game(write(tmp_path, EXAMPLE), "contribution_subsidy")
    without = EXAMPLE.replace('mechanism = "no_payments"', "")
    assert read_game(write(tmp_path, without), "no_payments").mechanism == NoPayments()


def test_another_mechanism_may_bring_parameters(tmp_path: Path) -> None:
    path = write(tmp_path, EXAMPLE)
    table = '{ kind = "contribution_subsidy", rate = 0.02 }'
    assert read_game(path, table).mechanism == ContributionSubsidy(0.02)
    with pytest.raises(
        InputError, match=r'needs rate, got nothing; write \{ kind = "contribution_subsidy", rate = \.\.\. \}'
    ):
        read_game(path, "contribution_subsidy")
    with pytest.raises(InputError, match="--mechanism is not valid TOML"):
        read_game(path, "{ kind = ")


def test_an_empty_file_has_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the game needs mechanism, accuracy, owners, got nothing"):
        read_game(write(tmp_path, ""))


def test_tables_lists_and_kinds_of_costs(tmp_path: Path) -> None:
    text = """
    mechanism = "no_payments"
    accuracy = { kind = "group_weighted", weights = [[1.0, 0.5], [0.0, 1.0]], groups = [0, 1, 1] }
    [owners]
    costs = [0.1, { kind = "affine", rate = 0.2, fixed = 3 }, { kind = "quadratic", rate = 0.5 }]
    capacity = [1, 2, 3.5]
    """
    game = read_game(write(tmp_path, text))
    assert game.accuracy == GroupWeighted([[1.0, 0.5], [0.0, 1.0]], [0, 1, 1])
    assert game.costs.value(np.ones(3)) == pytest.approx([0.1, 3.2, 0.5])
    assert game.capacities.tolist() == [1, 2, 3.5]


def test_costs_with_kinks_jumps_and_functions_of_ones_own(tmp_path: Path) -> None:
    lines = ["from fedabm.games.costs import Cost", "", "class Root(Cost):", "    convex = False", ""]
    lines += ["    def value(self, x):", "        return 0.1 * x**0.5", ""]
    (tmp_path / "mine.py").write_text("\n".join(lines), encoding="utf-8")
    text = """
    mechanism = "shapley_share"
    accuracy = "power_law"
    [owners]
    capacity = 20
    costs = [
        { kind = "piecewise", starts = [0, 10], slopes = [0.1, 0.2], jumps = [0.5, 0] },
        { kind = "tabulated", points = [0, 10, 20], costs = [0, 1, 4] },
        { kind = "mine.py:Root" },
    ]
    """
    game = read_game(write(tmp_path, text))
    assert game.costs.value(np.full(3, 15.0)) == pytest.approx([2.5, 2.5, 0.1 * 15**0.5])
    assert solve(game).converged
    with pytest.raises(InputError, match=r"its slope falls from 0\.2 to 0\.1 at 10; let slopes rise"):
        read_game(write(tmp_path, text.replace("[0.1, 0.2]", "[0.2, 0.1]")))


def test_one_cost_for_many_owners(tmp_path: Path) -> None:
    text = EXAMPLE.replace("costs = [0.1, 0.25]", "costs = 0.1, count = 5")
    assert read_game(write(tmp_path, text)).costs.rate.tolist() == [0.1] * 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"no_payments"', '"no_payment"', "unknown mechanism 'no_payment'; did you mean 'no_payments'"),
        ('"no_payments"', "3", "must be a mechanism, got 3; give a name or a table with a kind; choose one of"),
        ('"no_payments"', '{ kind = "contribution_subsidy" }', "needs rate"),
        ('"no_payments"', '{ kind = "contribution_subsidy", rat = 1 }', "unknown key 'rat'.*did you mean 'rate'"),
        ('"no_payments"', '{ kind = "contribution_subsidy", rate = "high" }', "rate .* must be a number, got 'high'"),
        ('"no_payments"', '{ kind = "contribution_subsidy", rate = true }', "must be a number, got True"),
        ('"no_payments"', '{ kind = "contribution_subsidy", rate = -1 }', "subsidy rate must be"),
        ('"no_payments"', '{ kind = "cost_sharing", rate = true }', "rate .* must be a number or 'optimal', got True"),
        ('"no_payments"', '{ kind = "cost_sharing", rate = [1] }', "rate .* must be a number or 'optimal', got"),
        ('"no_payments"', '{ kind = "shapley_share", printed = "no" }', "printed .* must be true or false, got 'no'"),
        ('"no_payments"', '{ kind = "shapley_share", method = 3 }', "method .* must be a text, got 3"),
        ('"no_payments"', '{ kind = "shapley_share", seed = nan }', "must be a whole number, got nan"),
        ('"no_payments"', '{ kind = "no_payments", rate = 1 }', "it takes no parameters"),
        ('"no_payments"', "{ rate = 1 }", "mechanism of the game has no kind, got rate; choose one of"),
        ('mechanism = "no_payments"', "", "the game needs mechanism, got accuracy, owners; add mechanism = ..."),
        ("mechanism", "mechanisms", "unknown key 'mechanisms'.*did you mean 'mechanism'"),
        ("power_law", "powerlaw", "unknown accuracy 'powerlaw'; did you mean 'power_law'"),
        ("power_law", "accuracy", "unknown accuracy 'accuracy'"),
        ("power_law", "phased", "unknown accuracy 'phased'"),
        ("power_law", "schedule", "unknown accuracy 'schedule'"),
        ("scale = 1.0, exponent = 1.0", "scale = 2.0, exponent = 1e-9", "no data would do"),
        ("0.25]", '{ kind = "linear", rate = [1, 2] }]', "that of several owners"),
        ('"no_payments"', '{ kind = "shapley_share", seed = -1 }', "seed must be a whole number from 0"),
        ("capacity = 100", "capacity = 1e300", "largest capacity must be a single number up to"),
        ('"power_law", scale = 1.0, exponent = 1.0, offset = 1.0', '"custom", function = "x"', "must be a function"),
        ("scale = 1.0", "scal = 1.0", "unknown key 'scal'.*did you mean 'scale'"),
        ("scale = 1.0", "scale = nan", "accuracy scale must be"),
        ("scale = 1.0", "scale = [1.0]", "must be a number"),
        ("0.25]", "-0.25]", "cost rate must be zero or a positive number, got -0.25"),
        ("0.25]", "nan]", "cost rate must be"),
        ("0.25]", '"x"]', "unknown cost 'x'; choose one of: affine"),
        ("0.25]", '{ kind = "afine", rate = 1 }]', "unknown cost 'afine'; did you mean 'affine'"),
        ("0.25]", '{ kind = "affine", rate = 1 }]', "needs fixed"),
        ("[0.1, 0.25]", "[]", "empty list"),
        ("costs", "cost", "unknown key 'cost' of owners of the game; did you mean 'costs'"),
        ("capacity = 100", "capacity = 0", "capacity must be a positive number"),
        ("capacity = 100", "capacity = [1, 2, 3]", "3 capacities but 2 costs"),
        ("capacity = 100", 'capacity = "all"', "capacity of owners .* must be a list or a number, got 'all'"),
        ("capacity = 100", "capacity = 100, count = 3", "2 costs but 3 owners"),
        ("capacity = 100", "capacity = 100, count = 0", "count of owners"),
        ("[0.1, 0.25]", "0.1, count = 12345678901234567890", r"count of owners .* whole number below 2\^63, got 1234"),
        ("[0.1, 0.25]", "0.1, count = 10000000000", "count of owners must lie between 1 and 1e"),
        ("[0.1, 0.25]", "0.1, count = 1e400", "count of owners .* must be a whole number, got inf"),
        ("0.25]", "1e400]", "cost rate must be .* got inf"),
        ("0.25]", f"1{'0' * 400}]", "costs of owners .* must be a number below 1e308"),
        ("scale = 1.0", f"scale = 1{'0' * 400}", "scale of accuracy 'power_law' must be a number below 1e308"),
        ("capacity = 100", "capacity = 1e400", "capacities must be finite"),
        ("capacity = 100", f"capacity = 0x{'F' * 9000}", "below 1e308, got a number of thousands of digits"),
        ("capacity = 100", f"capacity = {'9' * 9000}", "not valid TOML"),
        ("capacity = 100", f"capacity = {'[' * 5000}", "nested too deeply|not valid TOML"),
        ("capacity = 100", "capacity = 2020-01-01", "must be a list or a number, got datetime.date"),
        (", capacity = 100", "", "owners of the game needs capacity, got costs; add capacity"),
        ("{ costs = [0.1, 0.25], capacity = 100 }", "2", "owners of the game must be a table, got 2; write { costs"),
        ("owners = {", "owners = ", "not valid TOML"),
    ],
)
def test_mistakes_get_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(InputError, match=message) as caught:
        read_game(write(tmp_path, EXAMPLE.replace(old, new)))
    assert "\n" not in str(caught.value)


def test_unreadable_files_get_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.toml", tmp_path, binary):
        with pytest.raises(InputError, match="cannot read") as caught:
            read_game(path)
        assert "\n" not in str(caught.value)


def test_names_are_snake_case() -> None:
    assert [snake(name) for name in ("PowerLaw", "NoPayments", "PacBound")] == ["power_law", "no_payments", "pac_bound"]


# Rules that exchange models have names, too


EXCHANGING = [name for name, rule in kinds(mechanisms, mechanisms.Mechanism).items() if not rule.promises]


def test_rules_that_exchange_models_go_by_the_names_of_their_classes() -> None:
    expected = "cfl cgsv ditto fed_amp fed_avg_exchange fed_fomo fed_prox_exchange iafl local_only model_market "
    expected += "p_fed_graph rffl"
    assert sorted(EXCHANGING) == expected.split()


@pytest.mark.parametrize("name", EXCHANGING)
def test_solving_under_a_rule_that_exchanges_models_says_in_one_line_what_to_do(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", str(write(tmp_path, EXAMPLE)), "--mechanism", name]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert re.search(r"no game to solve under \w+: it exchanges models.*; run it as a scenario", said)


def test_parts_of_the_market_have_names_as_well() -> None:
    given = {
        "kind": "model_market",
        "distance": "euclidean_distance",
        "gain": {"kind": "logarithmic_gain", "scale": 2.0},
    }
    made = Reader().read("mechanism", given, Mechanism)
    assert made == ModelMarket(distance=EuclideanDistance(), gain=LogarithmicGain(2.0))
