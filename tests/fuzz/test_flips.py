"""Some flips; `python -m tests.fuzz.flips` tries many."""

from fedabm.results import design, store
from tests.fuzz.flips import hunt


def test_damaged_files_of_runs_and_sweeps_are_noticed():
    tally = hunt(tries=120, seed=3)
    assert tally.wrong == []
    assert tally.ends["refused in one line"] > 60


def test_lists_of_jobs_and_notes_are_noticed_too():
    for wanted in ("json", "parquet"):
        assert hunt(tries=60, wanted=wanted, seed=4).wrong == []


def test_readers_without_digests_and_seals_are_noticed(monkeypatch):
    """What would be missed without them."""
    monkeypatch.setattr(store, "_check_digests", lambda *given: None)
    monkeypatch.setattr(design, "digest_of_file", lambda path: None)
    monkeypatch.setattr(store, "read_sealed", lambda path: {**store.read_json(path), "digests": {}})
    assert hunt(tries=120, wanted="csv,json,png", seed=3, told=str).wrong
