"""A run is named by what can change its result, and by nothing else."""

import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

from fedabm import InputError, Scenario, population
from fedabm.common import sources
from fedabm.common.digest import digest
from fedabm.common.sources import sources_of
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.strategies import BestResponse, Liar
from fedabm.sweep import Grid, Seeds, Sweep
from tests.sweep.targets import build


def keys(sweep):
    return {job.key for job in sweep.jobs}


def test_the_name_of_a_run_is_its_content():
    sweep = Sweep(build, Grid(rate=[0.1, 0.2]), 2)
    assert len(keys(sweep)) == 4
    assert keys(sweep) < keys(Sweep(build, Grid(rate=[0.3, 0.1, 0.2]), 3))
    assert keys(sweep) == keys(Sweep(build, Grid(owners=[2], rate=[0.1, 0.2]), 2)), "owners=2 is the default"
    assert not keys(sweep) & keys(Sweep(build, Grid(rate=[0.1, 0.2]), 2, steps=2))
    assert not keys(sweep) & keys(Sweep(build, Grid(rate=[0.1, 0.2]), Seeds(2, root=1)))


def test_objects_are_named_by_their_fields():
    subsidies = [ContributionSubsidy(0.1), ContributionSubsidy(0.2), NoPayments()]
    assert len({digest(one) for one in subsidies}) == 3
    assert digest(Liar(BestResponse(), 2.0)) == digest(Liar(BestResponse(), 2.0))
    assert digest(np.arange(3.0)) != digest(np.arange(3))
    people = population([0.1, 0.2], 10.0)
    assert digest(Scenario(people, PowerLaw())) != digest(Scenario(people[:1], PowerLaw()))


@pytest.mark.parametrize("value", [lambda: 0, object(), {1, 2}])
def test_what_has_no_content_has_no_name(value):
    with pytest.raises(InputError, match="lasting name"):
        digest(value)


@pytest.fixture
def edited(monkeypatch, tmp_path):
    """Lets a module's source be read with some text replaced."""

    def edit(module, old, new):
        file = inspect.getsourcefile(importlib.import_module(module))
        text = Path(file).read_text()
        assert old in text
        copy = tmp_path / Path(file).name
        copy.write_text(text.replace(old, new))
        read = sources._read
        monkeypatch.setattr(sources, "_read", lambda one: read(str(copy) if one == file else one))
        sources_of.cache_clear()

    yield edit
    monkeypatch.undo()
    sources_of.cache_clear()


COMMENT = ("from __future__ import annotations", "# a comment\n\n\nfrom __future__ import annotations")
DOCSTRING = ("Pay `rate` per unit", "Pay so much per unit")
FORMULA = ("Line(-rate * mean_of_others", "Line(-2 * rate * mean_of_others")
SUBSIDY = "fedabm.mechanisms.contribution_subsidy"


@pytest.mark.parametrize(
    ("module", "change"),
    [
        (SUBSIDY, COMMENT),
        (SUBSIDY, DOCSTRING),
        ("tests.sweep.targets", ("A small market whose", "A market whose")),
        ("fedabm.report.page", ("_TRACEBACKS = 10", "_TRACEBACKS = 20")),
        ("fedabm.sweep.runner", ("DEATHS = 3", "DEATHS = 4")),
        ("fedabm.cli.run", ("Written to", "Here:")),
        ("fedabm.learning.engine.engine", COMMENT),
    ],
)
def test_what_cannot_change_a_result_voids_no_resume(edited, module, change):
    before = keys(Sweep(build, Grid(mechanism=[ContributionSubsidy(0.1)])))
    edited(module, *change)
    assert keys(Sweep(build, Grid(mechanism=[ContributionSubsidy(0.1)]))) == before


@pytest.mark.parametrize("module", ["fedabm.analysis.figures", "fedabm.report.page", "fedabm.cli.run"])
def test_what_shows_results_does_not_name_a_script_either(module):
    known = sources_of("fedabm.scenarios.free_riding", "fedabm.study.study").files
    assert inspect.getsourcefile(importlib.import_module(module)) not in known


@pytest.mark.parametrize(
    ("module", "change"),
    [
        (SUBSIDY, FORMULA),
        ("tests.sweep.targets", ("steps=3", "steps=4")),
        ("fedabm.simulation.model", ("self.steps", "self.steps + 0")),
        ("fedabm.games.accuracy.power_law", ("from __future__ import annotations\n", "import decimal\n")),
    ],
)
def test_a_changed_formula_gives_every_run_another_name(edited, module, change):
    before = keys(Sweep(build, Grid(mechanism=[ContributionSubsidy(0.1)])))
    edited(module, *change)
    assert not keys(Sweep(build, Grid(mechanism=[ContributionSubsidy(0.1)]))) & before


def test_the_code_of_a_parameter_counts_also_where_the_target_does_not_import_it(edited):
    before = digest(ContributionSubsidy(0.1))
    edited(SUBSIDY, *FORMULA)
    assert digest(ContributionSubsidy(0.1)) != before


def test_versions_count_of_what_is_imported_only(monkeypatch):
    code, version = sources_of("fedabm.simulation.model").code, sources._version
    for package, counts in (("torch", False), ("ray", False), ("scipy", True)):
        monkeypatch.setattr(sources, "_version", lambda name, new=package: "new" if name == new else version(name))
        sources_of.cache_clear()
        assert (sources_of("fedabm.simulation.model").code != code) == counts
    monkeypatch.undo()
    sources_of.cache_clear()
    assert version("sklearn") == version("scikit-learn")


def test_code_that_a_target_imports_counts_as_its_own(tmp_path, monkeypatch):
    """Also what it imports by the way, and no installed package; nothing is imported to find out."""
    (tmp_path / "own_package" / "around").mkdir(parents=True)
    for name, text in {
        "own_main": "import numpy, own_helper\nfrom own_package.around import deeper\ndef f():\n    import own_late\n",
        "own_helper": "number = 3",
        "own_late": "raise RuntimeError",
        "own_other": "number = 4",
        "own_package/around/__init__": "around = 5",
        "own_package/around/deeper": "from . import deepest\nfrom .last import number",
        "own_package/around/deepest": "",
        "own_package/around/last": "number = 6",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("own_main")
    found = sources_of("own_main")
    names = {Path(file).relative_to(tmp_path).with_suffix("").as_posix() for file in found.files}
    inside = {f"own_package/around/{name}" for name in ("__init__", "deeper", "deepest", "last")}
    assert names == {"own_main", "own_helper", "own_late", *inside}
    assert found.packages == ("numpy",)
    (tmp_path / "own_helper.py").write_text("number = 5")
    for cached in (sources._read, sources_of):
        cached.cache_clear()
    assert sources_of("own_main").code != found.code
