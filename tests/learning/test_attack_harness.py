"""The harness of attacks, in short: it runs on digits, and the backdoor works where it should."""

from fedabm.data import load_dataset
from tests.learning.attacks import SINGLE, backdoors, costs, judge, krum
from tests.thresholds import Thresholds


def test_the_tables_of_attacks_in_short():
    digits = load_dataset("digits")
    found = costs(0, SINGLE, rounds=40, data=digits)
    assert min(found.values()) > 5.0  # points
    door = backdoors(0, rounds=20, data=digits)
    assert door["FedAvg"] > 0.8
    assert max(door["median"], door["trimmed mean"]) < door["FedAvg"] - 0.2
    unlike = krum(0, rounds=40, data=digits)
    assert unlike["Krum, two classes each"] < unlike["FedAvg, two classes each"] - 0.2


def test_each_table_is_judged_by_its_thresholds():
    found = Thresholds()
    judge(found, "costs", {"min_max, median": 10.0, "little_is_enough, median": 9.9})
    judge(found, "backdoors", {"FedAvg": 0.9, "geometric median": 0.89, "median": 0.1, "trimmed mean": 0.2})
    judge(found, "krum", {"Krum, two classes each": 0.5, "FedAvg, two classes each": 0.6})
    assert [name.split(", ")[-1] for name in found.missed] == [
        "median",
        "geometric median",
        "trimmed mean",
        "what Krum loses on two classes each",
    ]
