"""Errors by kind: bad input, a user's code that failed, results that cannot be read, a busy folder, a missing extra."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

import fedabm
from fedabm import Federation, Scenario, load, population, save
from fedabm.accuracy import PowerLaw
from fedabm.common.files import locked
from fedabm.mechanisms import PaymentRule
from fedabm.strategies import Strategy

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
    """But for bad input, which all of them were called before 0.2."""
    assert issubclass(kind, fedabm.FedabmError)
    assert not any(issubclass(kind, other) for other in KINDS[1:] if other is not kind)
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
