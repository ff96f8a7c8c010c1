"""Any TOML value for any annotation either becomes what is wanted or is refused in one line."""

import datetime
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import InputError
from fedabm.common.errors import shown
from fedabm.data.partitions import Dirichlet, Partition, Rotated
from fedabm.games.accuracy import Accuracy, GroupWeighted, PowerLaw
from fedabm.games.costs import Affine, Cost
from fedabm.learning import FedAdam, FedAvg, Rule, Scaffold
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, NoPayments
from fedabm.mechanisms.market import Distance, Gain
from fedabm.simulation.activation import Activation, RandomSubset
from fedabm.simulation.stopping import Never, Stopping
from fedabm.specs.games import OwnerNumbers, game_of
from fedabm.specs.hints import hints_of, parameters_of
from fedabm.specs.kinds import choices
from fedabm.specs.values import Reader
from fedabm.specs.words import text_of, value_of
from fedabm.strategies import Attacker, BestResponse, Honest, Liar, Quitter, Strategy
from fedabm.sweep.sampling import Span
from fedabm.sweep.seeds import Seeds
from fedabm.sweep.spec import sweep_of

READ = Reader().read
FAMILIES = (Mechanism, Strategy, Accuracy, Cost, Activation, Partition, Gain, Distance, Rule, Stopping)


class Colour(enum.Enum):
    RED = 1


class Answering(Protocol):
    def answer(self) -> int: ...


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    rules: tuple[Mechanism, ...] = ()


@dataclass(frozen=True)
class Outer:
    inner: Inner
    folder: Path | None = None
    sizes: dict[str, int] | None = None


ANNOTATIONS = (
    *(int, float, bool, str, Path, Any, object, Colour, Answering, type, complex, datetime.date, None, int | None),
    *(float | Literal["optimal"], Literal["a", 3, True], tuple[float, ...], tuple[int, str], tuple, list[float]),
    *(Sequence[int], dict[str, float], dict, np.ndarray, Callable[[float], float], tuple[tuple[float, ...], ...]),
    *(tuple[Mechanism, ...] | Mechanism, Inner, Outer, OwnerNumbers, Seeds, Span, *FAMILIES),
)
NAMES = sorted({name for base in FAMILIES for name in choices(base)})
WORDS = st.sampled_from([*NAMES, "none", "json:loads", "a.py:b", "a\nb", "nosuch:x", ":", "kind"]) | st.text(max_size=8)
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**30, -(10**400), 12345678901234567890])
PLAIN = st.booleans() | NUMBERS | WORDS | st.dates() | st.datetimes()
KEYS = st.sampled_from(["kind", "rate", "truth", "inner", "costs", "capacity", "count", "x\ny"]) | st.text(max_size=3)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


def refused_in_one_line(read: Callable[[], Any]) -> Any:
    """What is read, or None after a refusal."""
    try:
        return read()
    except InputError as error:
        said = str(error)
    assert len(said.splitlines()) == 1
    assert len(said) < 2000
    return None


@settings(max_examples=400)
@given(value=VALUES, hint=st.sampled_from(ANNOTATIONS))
def test_any_value_for_any_annotation_is_taken_or_refused_in_one_line(value, hint):
    found = refused_in_one_line(lambda: READ("it", value, hint))
    if isinstance(hint, type) and hint not in (object, dict, type, Answering, Any) and found is not None:
        assert isinstance(found, hint)


@settings(max_examples=400)
@given(text=WORDS | NUMBERS.map(shown) | st.text("{[]}=\"'., 01e-ak", max_size=12), hint=st.sampled_from(ANNOTATIONS))
def test_any_word_for_any_annotation_is_taken_or_refused_in_one_line(text, hint):
    refused_in_one_line(lambda: READ("it", value_of("it", text, hint), hint))


@pytest.mark.parametrize("base", FAMILIES, ids=lambda base: base.__name__)
@settings(max_examples=60)
@given(data=st.data())
def test_any_value_for_any_parameter_of_any_kind_is_taken_or_refused_in_one_line(base, data):
    kind = data.draw(st.sampled_from(sorted(choices(base))))
    known = list(parameters_of(choices(base)[kind]))
    table = data.draw(st.dictionaries(st.sampled_from(known), VALUES)) if known else {}
    found = refused_in_one_line(lambda: READ("it", {**table, "kind": kind}, base))
    assert found is None or isinstance(found, base)


def some(*keys: str) -> st.SearchStrategy[dict[str, Any]]:
    """Tables with some of these keys, and whatever values."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(keys, VALUES))


@settings(max_examples=200)
@given(some("mechanism", "accuracy", "owners"), some("costs", "capacity", "count"), st.booleans())
def test_any_table_is_a_game_or_is_refused_in_one_line(table, owners, plain):
    usual = {"mechanism": "no_payments", "accuracy": "power_law", "owners": {"costs": 1, "capacity": 1, **owners}}
    refused_in_one_line(lambda: game_of({**usual, **({} if plain else table)}))


@settings(max_examples=200)
@given(
    some("seeds", "steps", "fixed", "other"),
    some("rate", "owners", "mechanism", "strategy", "odd"),
    st.sampled_from(["grid", "cells", "random", "one_at_a_time", "gird"]),
    st.booleans(),
)
def test_any_table_is_a_sweep_or_is_refused_in_one_line(table, design, kind, plain):
    usual = {"function": "tests.sweep.targets:build", "design": {"kind": kind, "count": 2, **design}}
    refused_in_one_line(lambda: len(sweep_of({**usual, **({} if plain else table)}).jobs) < 10**6)


@pytest.mark.parametrize("base", FAMILIES, ids=lambda base: base.__name__)
def test_numbers_that_python_cannot_print_are_taken_or_refused_in_one_line(base):
    for kind, make in choices(base).items():
        for name in parameters_of(make):
            refused_in_one_line(lambda table={"kind": kind, name: 1 << 20_000}: READ("it", table, base))
            refused_in_one_line(lambda table={"kind": kind, name: [1 << 20_000]}: READ("it", table, base))


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (3, float, 3.0),
        (3.0, int, 3),
        ([1, 2.0], tuple[float, ...], (1.0, 2.0)),
        ([3, "x"], tuple[int, str], (3, "x")),
        ([1, 2], list[float], [1.0, 2.0]),
        ("none", int | None, None),
        ("none", Literal["none", "all"] | None, "none"),
        (0.3, float | Literal["optimal"], 0.3),
        ("optimal", float | Literal["optimal"], "optimal"),
        (2, int | float, 2),
        (2.5, int | float, 2.5),
        ("a/b", Path, Path("a/b")),
        ("red", Colour, Colour.RED),
        ("no_payments", Mechanism | None, NoPayments()),
        ({"kind": "contribution_subsidy", "rate": 1}, Mechanism, ContributionSubsidy(1.0)),
        ({"kind": "cost_sharing", "rate": "optimal"}, Mechanism, CostSharing()),
        ("fedabm.mechanisms:NoPayments", Mechanism, NoPayments()),
        (["honest", {"kind": "liar", "truth": "honest"}], tuple[Strategy, ...], (Honest(), Liar(Honest()))),
        ({"kind": "attacker", "truth": "honest", "attack": "nan"}, Strategy, Attacker(Honest(), "nan")),
        ({"kind": "random_subset", "k": 3}, Activation, RandomSubset(3)),
        ({"kind": "fed_adam", "betas": [0, 0.5]}, Rule, FedAdam(betas=(0.0, 0.5))),
        ({"kind": "scaffold", "averaging": "fed_avg"}, Rule, Scaffold()),
        ({"kind": "scaffold", "averaging": {"rate": 0.5}}, Rule, Scaffold(FedAvg(rate=0.5))),
        ("never", Stopping, Never()),
        (
            {"kind": "rotated", "within": {"kind": "dirichlet", "owners": 4}},
            Partition,
            Rotated(Dirichlet(4)),
        ),
        ({"inner": {"rules": ["no_payments"]}, "folder": "x", "sizes": {"a": 1}}, Outer, None),
        ({"count": 3, "paired": False}, Seeds, Seeds(3, paired=False)),
        ("math:sqrt", Callable[[float], float], __import__("math").sqrt),
    ],
)
def test_values_become_what_is_wanted(value, hint, expected):
    found = READ("it", value, hint)
    if hint is Outer:
        expected = Outer(Inner(rules=(NoPayments(),)), Path("x"), {"a": 1})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "hint", "message"),
    [
        (12345678901234567890, int, "it must be a whole number below 2^63, got 12345678901234567890; give a smaller"),
        (float("1e400"), int, "it must be a whole number, got inf"),
        (10**400, float, "it must be a number below 1e308, got 1000"),
        pytest.param(1 << 20_000, int, "below 2^63, got a number of thousands of digits", id="thousands of digits"),
        (True, float, "it must be a number, got True"),
        ([1], tuple[int, int], "it must have 2 entries, got 1"),
        ("x", dict[str, int], "it must be a table, got 'x'"),
        ("optmal", float | Literal["optimal"], "it cannot be 'optmal'; did you mean 'optimal'?"),
        ([1], float | Literal["optimal"], "it must be a number or 'optimal', got [1]"),
        ("honst", Strategy, "unknown strategy 'honst'; did you mean 'honest'?"),
        ({"kind": "liar", "truth": "honst"}, Strategy, "unknown strategy 'honst'; did you mean 'honest'?"),
        (
            {"kind": "liar"},
            Strategy,
            "strategy 'liar' needs truth, got nothing; write { kind = \"liar\", truth = ... }",
        ),
        ({"inner": 3}, Outer, "inner of it must be a table, got 3; write { rate = ..., rules = ... }"),
        ("math:sqrrt", Callable[[float], float], "math has no 'sqrrt'; did you mean 'sqrt'?"),
        ("sqrt", Callable[[float], float], "it must be a function, got 'sqrt'; write where it stands"),
        ("fedabm.strategies:Honest", Mechanism, "is no mechanism; name a subclass of fedabm.mechanisms"),
        ({"kind": 3}, Mechanism, "the kind of mechanism must be a name, got 3"),
        ("1+2j", complex, "it must be a complex, got '1+2j'"),
    ],
)
def test_what_does_not_fit_is_refused(value, hint, message):
    with pytest.raises(InputError) as caught:
        READ("it", value, hint)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (True, bool),
        (None, float | None),
        ((0.5, 1e-7), tuple[float, ...]),
        (("a", "b"), tuple[str, ...]),
        (((0.5, 0.5), (1.0, 0.0)), tuple[tuple[float, ...], ...]),
        ("0.8", Literal["1-1/n", "0.8"]),
        ("{ not a table", str),
        (ContributionSubsidy(0.2), Mechanism),
        ((NoPayments(), ContributionSubsidy(0.2)), tuple[Mechanism, ...]),
        (Quitter(Attacker(BestResponse(0.5), "nan"), tolerance=0.1), Strategy),
        (PowerLaw(exponent=0.5), Accuracy),
        (GroupWeighted([[1.0, 0.5], [0.0, 1.0]], [0, 1, 1]), Accuracy),
        (Affine(0.5, 2.0), Cost),
        (FedAdam(inner=FedAvg(rate=0.5)), Rule),
    ],
)
def test_the_word_for_a_value_stands_for_it(value, hint):
    assert READ("it", value_of("it", text_of(value), hint), hint) == value


def test_annotations_that_cannot_be_understood_leave_the_others_alone():
    def odd(rate: "float", unknown: "Nowhere", plain=3, anything=None):  # noqa: F821
        """Has parameters of all sorts."""

    assert hints_of(odd) == {"rate": float, "unknown": Any, "plain": int, "anything": Any, "return": Any}
