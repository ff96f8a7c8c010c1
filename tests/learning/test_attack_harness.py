"""The harness of attacks, in short: it runs on digits, and the backdoor works where it should."""

from fedabm.data import load_dataset
from tests.learning.attacks import SINGLE, backdoors, costs, krum


def test_the_tables_of_attacks_in_short():
    digits = load_dataset("digits")
    found = costs(0, SINGLE, rounds=40, data=digits)
    assert min(found.values()) > 5.0  # points
    door = backdoors(0, rounds=20, data=digits)
    assert door["FedAvg"] > 0.8
    assert max(door["median"], door["trimmed mean"]) < door["FedAvg"] - 0.2
    unlike = krum(0, rounds=40, data=digits)
    assert unlike["Krum, two classes each"] < unlike["FedAvg, two classes each"] - 0.2
