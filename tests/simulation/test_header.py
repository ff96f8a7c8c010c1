"""A checkpoint of another run, another schema or other code is set aside and said, and the run begins afresh."""

import importlib
import json
import os
import sys
import time
from dataclasses import replace

import pytest

from fedabm import Federation, Scenario, population
from fedabm.common import sources
from fedabm.games.accuracy import PowerLaw
from fedabm.simulation import checkpoint
from fedabm.simulation.header import FORMAT, Header, checksum
from fedabm.simulation.stopping import Never
from fedabm.strategies import BestResponse
from tests.conftest import assert_equal_frames

OWN = '''
from dataclasses import dataclass
from fedabm.strategies import Strategy

@dataclass(frozen=True)
class Half(Strategy):
    """Contributes a share."""

    def act(self, view):
        return view.truthful(0.5 * view.capacity)
'''


def market(strategy=None):
    owners = population([0.02, 0.03], 10.0, strategy or BestResponse())
    return Scenario(owners, PowerLaw(), stopping=Never(), steps=4)


def kept(path, scenario, steps=2):
    """A run that was left after some steps."""
    keeper = checkpoint.Keeper(path, 1e-9, "mine")
    model = keeper.begun(scenario, 5)
    while model.steps < steps:
        model.step()
        keeper.keep(model)
    assert path.exists()


def begins_afresh(path, scenario, capsys):
    """What was said, if the run begins afresh and ends as one that was never interrupted."""
    model = checkpoint.Keeper(path, 1.0, "mine").begun(scenario, 5)
    said = capsys.readouterr().err
    assert model.steps == 0
    assert said.startswith(f"fedabm: bad checkpoint set aside as {path}.corrupt (")
    assert said.count("\n") == 1
    assert not path.exists()
    assert_equal_frames(model.run().frames(), Federation(scenario, 5).run().frames())
    return said


@pytest.fixture
def forgetful(monkeypatch):
    """Lets sources be read again."""

    def forget():
        for cached in (sources._read, sources.sources_of, sources._is_own, sources._spec):
            cached.cache_clear()

    forget()
    yield forget
    forget()


def own(folder, text, forget):
    """The strategy of a user's own module with this text."""
    (folder / "own_half.py").write_text(text)
    sys.modules.pop("own_half", None)
    importlib.invalidate_caches()
    forget()
    return importlib.import_module("own_half").Half()


def test_a_checkpoint_made_by_other_code_of_the_users_is_set_aside(tmp_path, monkeypatch, capsys, forgetful):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "run.checkpoint"
    kept(path, market(own(tmp_path, OWN, forgetful)))
    commented = OWN.replace("a share", "half of what it has")
    assert checkpoint.restore(path, market(own(tmp_path, commented, forgetful))).steps == 2
    changed = market(own(tmp_path, OWN.replace("0.5", "0.6"), forgetful))
    assert "it was made by other code" in begins_afresh(path, changed, capsys)


def test_a_checkpoint_made_by_other_code_of_ours_is_set_aside(tmp_path, monkeypatch, capsys, forgetful):
    path = tmp_path / "run.checkpoint"
    kept(path, market())
    read = sources._read

    def edited(file):
        found = read(file)
        return found._replace(digest="other") if file.endswith("simulation/treasury.py") else found

    edited.cache_clear = read.cache_clear
    monkeypatch.setattr(sources, "_read", edited)
    sources.sources_of.cache_clear()
    assert "it was made by other code" in begins_afresh(path, market(), capsys)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": FORMAT - 1}, "another version of fedabm wrote it)"),
        ({"format": FORMAT - 1, "version": "0.0.1"}, "another version of fedabm wrote it, fedabm 0.0.1)"),
        ({"schema": "x"}, "it holds other values than this version saves)"),
        ({"code": "x", "version": "0.0.1"}, "it was made by other code, fedabm 0.0.1)"),
        ({"identity": "other"}, "it is of another run)"),
        ({"scenario": "x"}, "it is of another scenario)"),
    ],
)
def test_a_header_that_says_something_else_is_refused_with_the_reason(tmp_path, capsys, change, reason):
    path = tmp_path / "run.checkpoint"
    kept(path, market())
    first, _, body = path.read_bytes().partition(b"\n")
    told = {**json.loads(first), **change}
    del told["checksum"]
    path.write_bytes(json.dumps({**told, "checksum": checksum(told, body)}).encode() + b"\n" + body)
    assert reason in begins_afresh(path, market(), capsys)


def test_what_is_sealed_can_be_opened_by_who_says_the_same():
    header = Header.of(market(), "mine", "schema")
    assert header.opened(header.sealed(b"body\n")) == b"body\n"
    assert replace(header, identity=None).opened(header.sealed(b"body")) == b"body"
    with pytest.raises(ValueError, match="another run"):
        replace(header, identity="theirs").opened(header.sealed(b"body"))


def test_code_that_changes_while_a_run_goes_on_is_not_taken_for_the_code_of_the_run(
    tmp_path, monkeypatch, capsys, forgetful
):
    monkeypatch.syspath_prepend(tmp_path)
    scenario = market(own(tmp_path, OWN, forgetful))
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 1e-9, "mine")
    model = keeper.begun(scenario, 5)
    os.utime(tmp_path / "own_half.py", times=(time.time() + 1,) * 2)
    for _ in range(2):
        model.step()
        keeper.keep(model)
    assert capsys.readouterr().err.count("own_half.py has changed while it ran") == 1
    assert not keeper.path.exists()
