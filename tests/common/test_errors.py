"""Errors by kind: bad input, a user's code that failed, results that cannot be read, a busy folder, a missing extra."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

import fedabm
from fedabm import Federation, Scenario, load, population, save
from fedabm.accuracy import PowerLaw
from fedabm.common.blame import failed_as, is_users
from fedabm.common.files import locked
from fedabm.costs import Linear
from fedabm.mechanisms import PaymentRule
from fedabm.strategies import BestResponse, Strategy

KINDS = (
    fedabm.InputError,
    fedabm.UserCodeError,
    fedabm.UnreadableError,
    fedabm.BusyError,
    fedabm.MissingExtraError,
)


@dataclass(frozen=True)
class Broken(Strategy):
    def act(self, view):
        raise KeyError("cost")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_one_of_ours_and_of_no_other_kind(kind):
    assert issubclass(kind, fedabm.FedabmError)
    assert not any(issubclass(kind, other) for other in KINDS if other is not kind)
    assert str(pickle.loads(pickle.dumps(kind("what; remedy")))) == "what; remedy"


def test_bad_input_is_a_value_error_and_what_is_not_installed_an_import_error():
    assert issubclass(fedabm.InputError, ValueError)
    assert issubclass(fedabm.MissingExtraError, ImportError)


def test_code_of_the_user_that_fails_says_so_and_keeps_what_it_raised():
    people = population([0.1], 1.0, Broken())
    with pytest.raises(fedabm.UserCodeError, match=r"Broken of owner 0 failed .*'cost'; mend what raised it") as found:
        Federation(Scenario(people, PowerLaw())).run()
    assert isinstance(found.value.__cause__, KeyError)
    rule = PaymentRule(lambda accuracy, reports: 1 / 0)
    with pytest.raises(fedabm.UserCodeError, match="division by zero"):
        Federation(Scenario(population([0.1], 1.0), PowerLaw(), rule)).run()


def test_a_mistake_of_our_own_is_not_told_as_the_users():
    """Neither where a strategy of the package fails, nor where a user's calls one that does."""
    frame = raised_by(lambda: 1 / 0)
    assert is_users(frame)
    assert isinstance(failed_as(frame, "mine"), fedabm.UserCodeError)
    ours = raised_by(lambda: Linear(-1.0))
    ours.__traceback__ = last(ours.__traceback__)
    assert not is_users(ours, BestResponse())
    assert isinstance(failed_as(ours, "it failed", BestResponse()), fedabm.InputError)
    bug = TypeError("a mistake").with_traceback(ours.__traceback__)
    assert failed_as(bug, "it failed", BestResponse()) is bug
    assert isinstance(failed_as(bug, "it failed", Broken()), fedabm.UserCodeError)


def raised_by(function):
    """What a function raises."""
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("it raises nothing")


def last(trace):
    """The innermost frame of a traceback, which is of this package where that complains."""
    while trace.tb_next:
        trace = trace.tb_next
    return trace


def test_results_that_are_damaged_are_unreadable_and_a_folder_without_any_is_bad_input(tmp_path):
    save(Federation(Scenario(population([0.1], 1.0), PowerLaw(), steps=1)).run().frames(), tmp_path / "out")
    (tmp_path / "out" / "owners.parquet").write_bytes(b"nonsense")
    with pytest.raises(fedabm.UnreadableError, match="run the study again"):
        load(tmp_path / "out")
    with pytest.raises(fedabm.InputError, match="holds no run") as found:
        load(tmp_path)
    assert not isinstance(found.value, fedabm.UnreadableError)


def test_a_folder_in_which_another_works_is_busy(tmp_path):
    with (
        locked(tmp_path / "lock", "busy; wait"),
        pytest.raises(fedabm.BusyError, match="busy; wait"),
        locked(tmp_path / "lock", "busy; wait"),
    ):
        pass
