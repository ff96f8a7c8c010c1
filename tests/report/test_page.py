"""One HTML page from any folder: what it says, and that it needs nothing else."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fedabm
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.report.facts import facts, specification
from fedabm.report.folder import ResultFolder, read
from fedabm.report.gallery import _by_role, _maps, _money, _parameters
from fedabm.report.page import page
from fedabm.report.tables import _rounded
from fedabm.results.frames import COLUMNS, Frames
from fedabm.strategies import BestResponse, Liar
from fedabm.study.study import Study
from fedabm.sweep import Cells, Grid, LatinHypercube, OneAtATime, Sweep
from fedabm.sweep.spec import sweep_of
from tests.conftest import run
from tests.mechanisms.market.markets import apart, federation, truth
from tests.report.folders import Outline, small
from tests.sweep import targets


@pytest.mark.parametrize("name", ["run", "failures", "market", "mesa"])
def test_the_page_is_complete_light_and_needs_nothing_else(name: str, pages: dict[str, str]) -> None:
    text = pages[name]
    outline = Outline(text)
    assert len(text) < 1_500_000
    for heading in ("Warnings", "What was run", "Headline", "How to repeat it"):
        assert heading in outline.text
    assert outline.all("img")
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in outline.all("img"))
    assert not outline.all("script")
    links = [str(link["href"]) for link in (*outline.all("a"), *outline.all("link"))]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|https?://", text)
    anchors = {attributes.get("id") for _, attributes in outline.tags}
    assert {link[1:] for link in links if link.startswith("#")} <= anchors


@pytest.mark.parametrize("name", ["run", "failures", "market", "mesa"])
def test_the_page_can_be_read_without_seeing_it(name: str, pages: dict[str, str]) -> None:
    outline = Outline(pages[name])
    assert outline.all("html")[0]["lang"] == "en"
    assert all(len(str(image["alt"])) > 20 and image["width"] and image["height"] for image in outline.all("img"))
    assert all(header.get("scope") in ("col", "row") for header in outline.all("th"))
    assert len(outline.all("table")) == len(outline.all("caption")) > 0
    assert all(region.get("aria-label") for region in outline.all("div") if region.get("role") == "region")


def test_the_same_folder_gives_the_same_page(folders: dict[str, Path], pages: dict[str, str]) -> None:
    assert page(folders["run"]) == pages["run"]


def test_a_run_is_described_with_its_numbers(folders: dict[str, Path], pages: dict[str, str]) -> None:
    frames, text = fedabm.load(folders["run"]), Outline(pages["run"]).text
    assert "Who contributes, who pays and who gains" in text
    assert "ContributionSubsidy(rate=0.012)" in text
    assert "fedabm run free_riding --seed 0 --set owners=6" in text
    for label in frames.runs["label"]:
        assert label in text
    for welfare in frames.steps.groupby("run")["welfare"].last():
        assert f"{welfare:,.4g}" in text
    for title in ("Outcomes by run", "Contributions over time", "Utility against contribution", "Who pays whom"):
        assert title in text
    assert "By mechanism and strategy, last step" in text  # the title of the scenario's own table
    assert "Every bar is one run" in text
    assert pages["run"].index('<section id="own"') < pages["run"].index('<section id="figures"')


def test_failed_runs_are_told_with_reason_and_traceback(pages: dict[str, str]) -> None:
    text = Outline(pages["failures"]).text
    assert "2 of 4 runs failed" in text
    assert "2 x ValueError: no such market" in text
    assert 'raise ValueError("no such market")' in text
    assert "kind=raise" in text


def test_a_market_without_steps_shows_its_tables(pages: dict[str, str]) -> None:
    text = Outline(pages["market"]).text
    assert "under-stated" in text
    assert "attacker" in text
    assert "The scenario's own pictures" in text


def test_a_mesa_model_of_ones_own_is_reported_on(pages: dict[str, str]) -> None:
    text = Outline(pages["mesa"]).text
    assert "Model reporters over time" in text
    assert "walkers=2" in text
    assert "spread" in text


# How to repeat a sweep


@pytest.mark.parametrize(
    "design",
    [
        Grid(rate=[0.01, 0.02], owners=[5, 6]),
        OneAtATime({"rate": 0.01, "owners": 5}, rate=[0.01, 0.02]),
        Cells({"few": {"owners": 3}, "many, dear": {"owners": 9, "rate": 0.5}}),
        LatinHypercube({"rate": [0.1, 0.2], "owners": [3, 4]}, 4, seed=2),
    ],
)
@pytest.mark.parametrize("seeds", [3, [7, 8]])
def test_the_specification_gives_the_same_jobs(design: Any, seeds: Any, folders: dict[str, Path]) -> None:
    sweep = Sweep("free_riding", design, seeds, fixed={"liars": 2}, steps=4)
    source = replace(read(folders["failures"]), manifest=json.loads(json.dumps(sweep.describe())))
    again = sweep_of(tomllib.loads(specification(source)))
    assert [job.key for job in again.jobs] == [job.key for job in sweep.jobs]


def test_the_specification_of_a_sweep_over_objects_gives_the_same_jobs(folders: dict[str, Path]) -> None:
    rules = [NoPayments(), ContributionSubsidy(0.1), targets.Bribe(3.0)]
    design = Grid(mechanism=rules, strategy=[Liar(BestResponse(), cost_factor=2.0)])
    sweep = Sweep(targets.build, design, fixed={"rate": 0.5})
    source = replace(read(folders["failures"]), manifest=json.loads(json.dumps(sweep.describe())))
    again = sweep_of(tomllib.loads(specification(source)))
    assert [job.key for job in again.jobs] == [job.key for job in sweep.jobs]


def test_what_has_no_specification_has_none(folders: dict[str, Path]) -> None:
    source = read(folders["failures"])
    assert specification(replace(source, manifest={**source.manifest, "fixed": {"a": None}})) == ""
    assert specification(replace(source, manifest={**source.manifest, "design": []})) == ""


# Tables and figures


def test_own_tables_keep_their_titles_and_order(tmp_path: Path) -> None:
    study = Study("mine", quiet=True)
    for name, title in (("z", "First of all"), ("a", "Then this")):
        study.table(pd.DataFrame({"number": [1]}), title, name)
    study.add(small())
    study.save(tmp_path / "x")
    (tmp_path / "x" / "of_unknown_origin.csv").write_text("number\n3\n")
    captions = re.findall("<caption><span>(.*?)</span></caption>", page(tmp_path / "x"))
    assert captions[-len(COLUMNS) - 3 : -len(COLUMNS)] == ["First of all", "Then this", "of unknown origin"]


def sweep(sizes: list[int]) -> ResultFolder:
    """A sweep over two rates and these sizes, with two seeds each."""
    cells = [(rate, size) for rate in (0.01, 0.02) for size in sizes for _ in (0, 1)]
    frames = Frames.join([small(steps=1)] * len(cells))
    runs = frames.runs.assign(rate=[rate for rate, _ in cells], size=[size for _, size in cells])
    seeds = {"count": 2, "paired": True, "root": 7}
    return ResultFolder(Path("sweep"), "sweep", {"seeds": seeds}, replace(frames, runs=runs))


def test_two_parameters_have_a_heat_map_with_one_scale() -> None:
    (only,) = _maps(sweep([3, 4]))
    assert only.title == "Welfare by rate and size"
    assert "by rate and size" in only.alt
    assert "one scale" in only.caption
    assert list(_maps(sweep([3]))) == []


def test_a_parameter_is_drawn_apart_for_each_setting_of_the_others() -> None:
    few, many = ({one.title: one for one in _parameters(sweep(sizes))} for sizes in ([3, 4], [3, 4, 5, 6, 7]))
    assert list(few) == list(many) == ["Welfare against rate", "Welfare against size"]
    assert few["Welfare against rate"].caption.endswith("bands 95% intervals of 10 runs or more.")
    assert "one panel per setting" in few["Welfare against rate"].alt
    assert "whatever else varied" in many["Welfare against rate"].caption
    assert "whatever else varied" not in many["Welfare against size"].caption


def test_drawn_seeds_are_told_by_their_root() -> None:
    source = sweep([3])
    assert dict(facts(source))["Seeds"] == "2, the same in every cell (drawn from root 7)"
    assert dict(facts(replace(source, manifest={})))["Seeds"] == "0"


def test_spreads_are_written_without_exponents() -> None:
    assert [_rounded(value) for value in (112.0, 0.0123, 0.0, float("nan"))] == ["110", "0.012", "0", "–"]


def test_owners_of_a_market_are_drawn_by_their_roles() -> None:
    owners = pd.DataFrame({"strategy": "honest", "role": ["buyer", "seller"]})
    assert list(_by_role(owners)["strategy"]) == ["buyer", "seller"]
    assert list(_by_role(owners.assign(role=""))["strategy"]) == ["honest", "honest"]


def test_a_market_shows_who_learns_from_whom() -> None:
    model = run(federation(truth(), apart()))
    frames = model.frames()
    pairs = int(frames.owners.loc[frames.owners["step"] == 1, "imports"].sum())
    money, models = _money(ResultFolder(Path("market"), "run", {}, frames))
    assert (money.title, models.title) == ("Who pays whom", "Who learns from whom")
    assert pairs > 0
    assert models.alt.endswith(f": {pairs} pairs of giver and importer.")
    assert [one.title for one in _money(ResultFolder(Path("run"), "run", {}, small()))] == ["Who pays whom"]
