"""Tables of a terminal are never cut: what is too wide goes on below."""

from io import StringIO

import pandas as pd
from hypothesis import given
from hypothesis import strategies as some
from rich.console import Console

from fedabm.cli.tables import show_whole


def printed(table, width, **options):
    console = Console(width=width, record=True, file=StringIO())
    show_whole(console, table, "Title", **options)
    return console.export_text()


def test_columns_that_do_not_fit_go_on_in_a_table_below():
    """Names take 14 + 4, columns 11 + 3 each: of 50 characters two fit beside the names."""
    names = pd.Index(["MultiplicativeWeights"[:14], "B"], name="rule")
    table = pd.DataFrame({f"measure {place:03d}": ["1", "2"] for place in range(5)}, index=names)
    text = printed(table, 50)
    assert text.count("Title, continued") == 2
    assert text.count("Multiplicative") == 3
    assert [text.count(name) for name in table] == [1] * 5


def test_a_group_is_named_where_its_rows_begin():
    index = pd.MultiIndex.from_product([["nan", "copy"], ["FedAvg", "Krum"]], names=["attack", "defence"])
    text = printed(pd.DataFrame({"lost": list("1234")}, index=index), 80, sections=True)
    assert text.count("nan") == text.count("copy") == 1
    assert text.count("Krum") == 2


@given(
    some.lists(some.text("abcdefgh", min_size=1, max_size=30), min_size=1, max_size=8, unique=True),
    some.integers(70, 200),
)
def test_no_name_and_no_cell_is_cut(names, width):
    table = pd.DataFrame({name.upper(): [name, "0"] for name in names}, index=["Rule" * 4, "Other"])
    text = printed(table, width)
    assert "…" not in text
    assert all(name.upper() in text and name in text for name in names)
