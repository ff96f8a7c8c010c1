"""Designs, seeds and names of runs."""

import warnings

import pytest

from fedabm import InputError, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.sweep import Cells, Grid, LatinHypercube, OneAtATime, RandomDesign, Seeds, Sobol, Span, Sweep
from tests.sweep.targets import Walk, build

SPANS = {"rate": Span(0.01, 1.0, log=True), "owners": Span(2, 5, whole=True), "kind": ["a", "b", "c"]}


def settings(design):
    return [cell.parameters for cell in design.cells()]


def test_grid_has_every_combination_once():
    found = settings(Grid(a=[1, 2, 3], b=["x", "y"]))
    assert len(found) == 6
    assert {(one["a"], one["b"]) for one in found} == {(a, b) for a in (1, 2, 3) for b in "xy"}


@pytest.mark.parametrize("kind", [RandomDesign, LatinHypercube, Sobol])
def test_drawn_designs_stay_inside_their_spans_and_repeat_themselves(kind):
    found = settings(kind(SPANS, 50, seed=3))
    assert found == settings(kind(SPANS, 50, seed=3))
    assert found != settings(kind(SPANS, 50, seed=4))
    assert len(found) == 50
    assert all(0.01 <= one["rate"] <= 1.0 for one in found)
    assert {one["owners"] for one in found} == {2, 3, 4, 5}
    assert all(type(one["owners"]) is int for one in found)
    assert {one["kind"] for one in found} == {"a", "b", "c"}


def test_a_latin_hypercube_meets_every_slice_once():
    found = settings(LatinHypercube({"x": Span(0.0, 1.0), "y": Span(0.0, 1.0)}, 20))
    for name in ("x", "y"):
        assert sorted(int(20 * one[name]) for one in found) == list(range(20))


@pytest.mark.parametrize("kind", [RandomDesign, Sobol])
def test_more_points_keep_the_first_ones(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert settings(kind(SPANS, 33, seed=1))[:10] == settings(kind(SPANS, 10, seed=1))


def test_one_at_a_time_changes_one_parameter_each():
    baseline = {"a": 1, "b": "x"}
    first, *rest = settings(OneAtATime(baseline, a=[1, 2, 3], b=["y"]))
    assert first == baseline
    assert len(rest) == 3
    assert all(sum(one[name] != baseline[name] for name in baseline) == 1 for one in rest)


def test_paired_seeds_are_common_and_others_are_not():
    paired, alone = Seeds(5), Seeds(5, paired=False)
    assert paired.for_cell("aa") == paired.for_cell("bb")
    assert not set(alone.for_cell("aa")) & set(alone.for_cell("bb"))
    assert len(set(alone.for_cell("aa"))) == 5


@pytest.mark.parametrize("paired", [True, False])
def test_more_seeds_keep_the_first_ones(paired):
    assert Seeds(9, paired=paired).for_cell("aa")[:4] == Seeds(4, paired=paired).for_cell("aa")
    assert Seeds(4, paired=paired, root=1).for_cell("aa") != Seeds(4, paired=paired).for_cell("aa")


def test_cells_take_tables_and_scenarios():
    people = population([0.1, 0.2], 10.0)
    cells = Cells({"one": Scenario(people, PowerLaw())}).cells()
    assert list(cells[0].parameters) == ["scenario"]
    assert [cell.name for cell in Cells([{"rate": 0.1}]).cells()] == ["rate=0.1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Grid(), "the design is empty"),
        (lambda: Grid(rate=[]), "the list of rate is empty"),
        (lambda: Grid(rate="abc"), "must be a list"),
        (lambda: Sweep(build, Cells([])).cells, "the design is empty"),
        (lambda: Sweep(build, Grid(rat=[0.1])).cells, "did you mean 'rate'"),
        (lambda: Sweep(Walk, Grid(walker=[1])).cells, "did you mean 'walkers'"),
        (lambda: Sweep("free_ridin", Grid(a=[1])).cells, "did you mean 'free_riding'"),
        (lambda: Sweep(lambda: 0, Grid(a=[1])).cells, "define it at the top of a module"),
        (lambda: Sweep(3, Grid(a=[1])).cells, "cannot sweep 3"),
        (lambda: Seeds(0), "count of seeds"),
        (lambda: Seeds.of("many"), "seeds must be"),
        (lambda: Span(1.0, 0.0), "must rise"),
        (lambda: Span(0.0, 1.0, log=True), "must be positive"),
        (lambda: Span(2.5, 5, whole=True), "needs whole ends"),
        (lambda: Sobol({}, 4), "no parameters"),
        (lambda: OneAtATime({"a": 1}, b=[2]), "baseline has no 'b'"),
    ],
)
def test_bad_designs_get_one_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
