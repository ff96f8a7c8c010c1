"""What people see in a notebook or a shell: one line of text each, and a small table; runs show how far they are."""

from __future__ import annotations

import re

import nbformat
import numpy as np
import pytest

from fedabm import Federation, Game, Scenario, Thoroughness, audit, compare, population, solve
from fedabm.accuracy import PowerLaw
from fedabm.common import notebooks
from fedabm.mechanisms import ContributionSubsidy, NoPayments, PaymentRule

OWNERS = population([0.1, 0.25], 100.0)
RULE = ContributionSubsidy(0.05)


def half(accuracy, reports):
    return 0.01 * (reports.contribution - reports.contribution.mean())


def shown() -> dict[str, tuple[object, str]]:
    model = Federation(Scenario(OWNERS, PowerLaw(), RULE, steps=9), seed=3).run()
    game = Game(PowerLaw(), [0.1, 0.25], 100.0, RULE)
    return {
        "federation": (
            model,
            r"Federation\(2 owners, ContributionSubsidy\(rate=0.05\), seed 3: step \d of at most 9, ended\)",
        ),
        "frames": (model.frames(), r"Frames\(runs: 1 rows, steps: \d rows, owners: \d+ rows, transfers: \d+ rows\)"),
        "equilibrium": (
            solve(game),
            r"Equilibrium\(certified: 2 owners give 3\.\d+, nobody gains more than \S+; \w+\)",
        ),
        "card": (
            audit(game, thoroughness=Thoroughness.quick()),
            r"Card\(ContributionSubsidy\(rate=0.05\), 2 owners: rewards lying.*\)",
        ),
        "comparison": (
            compare(OWNERS, [NoPayments(), RULE], seeds=2, accuracy=PowerLaw()),
            r"Comparison\(no payments, contribution subsidy 0.05; 2 seeds\)",
        ),
    }


def test_each_is_one_line_of_text_and_a_table_in_a_notebook():
    for name, (thing, wanted) in shown().items():
        assert re.fullmatch(wanted, repr(thing)), (name, repr(thing))
        html = thing._repr_html_()
        assert html.startswith("<p>"), name
        assert 1 < html.count("<tr>") <= 1 + notebooks.MOST_ROWS, name


def test_tables_of_many_owners_show_ten_and_say_how_many_more():
    many = Federation(Scenario(population([0.1] * 1234, 1.0), PowerLaw(), steps=1))
    assert many._repr_html_().endswith("<p>and 1,224 more rows</p>")


def test_frames_on_disk_are_counted_alike(tmp_path):
    people = population([0.1] * 300, 1.0)
    whole = Federation(Scenario(people, PowerLaw(), steps=4)).run().frames()
    streamed = Federation(Scenario(people, PowerLaw(), steps=4)).stream(tmp_path / "rows").run().frames()
    assert repr(streamed) == repr(whole)


def test_what_somebody_named_cannot_run_as_a_script():
    assert "<script" not in notebooks.as_html("<script>", [{"<script>": "<script>"}])


def test_a_payment_rule_is_called_after_its_function():
    assert repr(PaymentRule(half)) == "PaymentRule(half)"
    assert repr(PaymentRule(half, budget_balanced=True)) == "PaymentRule(half, budget_balanced=True)"
    assert "0x" not in repr(PaymentRule(lambda accuracy, reports: np.zeros(2)))
    frames = Federation(Scenario(OWNERS, PowerLaw(), PaymentRule(half), steps=1)).run().frames()
    assert frames.runs["mechanism"].astype(str).tolist() == ["PaymentRule(half)"]


def test_runs_in_notebooks_show_a_bar_that_goes_away():
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("nbclient")
    code = """
    from types import SimpleNamespace
    from fedabm import Federation, Scenario, population
    from fedabm.accuracy import PowerLaw
    from fedabm.simulation import Never, Watcher
    from fedabm.common import notebooks
    now = [0.0]
    notebooks.time = SimpleNamespace(monotonic=lambda: now[0])
    class Slow(Watcher):
        def step(self, values): now[0] += 0.3
    import IPython.display
    seen, show = [], IPython.display.DisplayHandle.display
    def display(handle, bundle, **given):
        seen.append(bundle["text/html"])
        show(handle, bundle, **given)
    IPython.display.DisplayHandle.display = display
    run = Federation(Scenario(population([0.1], 1.0), PowerLaw(), stopping=Never(), steps=6)).run(Slow())
    assert len(seen) == 1 and '<progress value="4" max="6">' in seen[0], seen
    """
    cell = nbformat.v4.new_code_cell("\n".join(line[4:] for line in code.split("\n")))
    book = client.NotebookClient(nbformat.v4.new_notebook(cells=[cell])).execute()
    left = [one.data for one in book.cells[0].outputs if one.output_type == "display_data"]
    assert left == [{"text/html": "", "text/plain": ""}]


def test_elsewhere_runs_show_nothing(capfd):
    with notebooks.notebook_bar("run", 2) as advance:
        advance()
    assert capfd.readouterr() == ("", "")
