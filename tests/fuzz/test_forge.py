"""Some forgeries; `python -m tests.fuzz.forge` tries the whole catalogue."""

import random

from tests.fuzz.forge import Run, hunt
from tests.fuzz.forging import Forged, catalogue, mutated, put


def test_forged_checkpoints_run_nothing():
    tally = hunt(tries=16, told=str)
    assert tally.wrong == []
    assert tally.tries == 16


def test_a_forged_checkpoint_of_a_trained_run_runs_nothing():
    tally = hunt(tries=4, seed=1, told=str, settings=("train=true",))
    assert tally.wrong == []


def test_the_forgery_that_ran_a_file_is_set_aside_and_an_honest_checkpoint_is_not(tmp_path):
    run = Run(tmp_path)
    forged = Forged.of(run.honest, str(run.evil))
    put(lambda forged: forged.add("method", forged.target(), "find"), "values", "step")(forged)
    assert run.again(forged.content()) == ("set aside", "")
    assert run.again(Forged.of(run.honest, "").content()) == ("gone on", "")


def test_code_that_runs_is_noticed(tmp_path, monkeypatch):
    """A reader that runs what it is told to."""
    from fedabm.simulation import checkpoint

    run = Run(tmp_path)
    careful = checkpoint.unpack

    def careless(content, given):
        if b"evil.py" in content:
            exec(compile(run.evil.read_text(), str(run.evil), "exec"), {})
        return careful(content, given)

    monkeypatch.setattr(checkpoint, "unpack", careless)
    forged = Forged.of(run.honest, str(run.evil))
    forged.target()
    end, noted = run.again(forged.content())
    assert end == "code was run"
    assert "evil.py" in noted


def test_there_are_many_ways():
    names = [name for name, _ in catalogue()]
    assert len(set(names)) == len(names) >= 50


def test_chance_finds_many_places(tmp_path):
    run = Run(tmp_path)
    rng = random.Random(0)
    assert len({mutated(Forged.of(run.honest, "x"), rng) for _ in range(40)}) > 30
