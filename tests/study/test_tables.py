"""Tables say what they have to say in few characters."""

import io

import pandas as pd
from rich.console import Console

from fedabm.study.study import Study
from fedabm.study.tables import shown_table


def printed(frame: pd.DataFrame, width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(shown_table(frame, "A title"))
    return console.file.getvalue()


def test_noise_is_zero_and_what_never_changes_is_said_once():
    frame = pd.DataFrame(
        {"mechanism": list("abc"), "utility": [0.8308034, 1e-19, 12345.678], "owners": 12, "status": "converged"}
    )
    text = printed(frame)
    assert "0.8308" in text
    assert "12,346" in text
    assert "e-19" not in text
    assert "In every row owners: 12, status: converged" in text
    assert "converged" not in text.splitlines()[2]


def test_numbers_of_a_column_have_the_same_decimals_where_that_shows_them_all():
    assert "0.951" not in printed(pd.DataFrame({"x": [0.8308, 0.951, 0.05]})).split()
    assert "0.9510" in printed(pd.DataFrame({"x": [0.8308, 0.951, 0.05]})).split()
    assert "8e-06" in printed(pd.DataFrame({"x": [0.8308, 0.951, 8e-6]})).split()


def test_two_rows_and_tables_of_one_value_keep_their_columns():
    assert "In every row" not in printed(pd.DataFrame({"a": [1, 1], "b": [2, 2]}))
    assert "In every row" not in printed(pd.DataFrame({"a": [1] * 4}))


def test_markup_in_names_is_shown_as_text():
    assert "[bold]x[/bold]" in printed(pd.DataFrame({"name": ["[bold]x[/bold]", "y"]}))


def test_an_empty_line_stands_between_the_tables_of_a_study(capsys):
    study = Study("tables")
    for title in ("First", "Second"):
        study.table(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), title, title)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[lines.index("Second") - 1] == ""
    assert lines.index("First") == 0
