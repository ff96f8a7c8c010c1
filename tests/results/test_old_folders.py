"""Folders written by commit 026ca4a, before there was a table of columns, stay readable (fixtures/026ca4a)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedabm import load
from fedabm.results.columns import COLUMNS, TABLE
from fedabm.sweep import Grid, Sweep

OLD = Path(__file__).parent / "fixtures" / "026ca4a"
#: what has been added since
NEW = {"outside_money", "net_welfare", "stacked", "models_up", "models_down", "bytes_up", "bytes_down", "knowledge"}
NEW |= {"participants", "took_part", "discount", "epsilon"}


@pytest.mark.parametrize("name", ["run", "sweep"])
def test_old_folders_are_read_with_the_columns_they_have(name):
    frames = load(OLD / name)
    for frame in ("steps", "owners", "transfers"):
        found = getattr(frames, frame)
        assert len(found)
        assert set(COLUMNS[frame]) - set(found.columns) <= NEW
        assert [column for column in found.columns if column in COLUMNS[frame]] == [
            column for column in COLUMNS[frame] if column in found.columns
        ]
    assert not len(frames.imports)
    assert list(frames.imports.columns) == list(COLUMNS["imports"])


def test_columns_have_kept_their_kinds():
    frames = load(OLD / "run")
    for entry in TABLE:
        table = getattr(frames, entry.frame)
        if len(table) and entry.name in table.columns and entry.kind is not str:
            assert table[entry.name].dtype.kind == entry.dtype.kind, entry.name


def test_some_columns_and_runs_of_old_folders_can_be_chosen():
    chosen = load(OLD / "run", columns={"owners": ["utility"], "imports": None}, runs=[1])
    assert set(chosen.owners["run"]) == {1}
    assert list(chosen.imports.columns) == list(COLUMNS["imports"])


def test_graphs_of_old_folders_go_by_the_server():
    graphs = load(OLD / "run").graph(step=6, run=1)
    assert {"server", "owner 0"} <= set(graphs.imports)
    paid = load(OLD / "run").transfers.query("run == 1 and step == 6")["amount"].sum()
    assert graphs.transfers.size(weight="amount") == pytest.approx(paid)


def test_the_code_of_today_gives_the_old_numbers(tmp_path):
    old = load(OLD / "sweep")
    Sweep("free_riding", Grid(owners=[3]), 1, steps=2).run(tmp_path, "serial", quiet=True)
    new = load(tmp_path)
    assert new.runs["seed"].tolist() == old.runs["seed"].tolist()
    for frame in ("steps", "owners", "transfers"):
        for column in getattr(old, frame).select_dtypes("number"):
            then, now = getattr(old, frame)[column], getattr(new, frame)[column]
            np.testing.assert_allclose(now, then, rtol=1e-12, atol=1e-15, err_msg=f"{frame}.{column}")
