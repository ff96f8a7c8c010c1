"""Every scenario runs for two steps, by name and by itself."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from fedabm import load
from fedabm.cli import main
from fedabm.specs.words import text_of
from fedabm.study.library import find, names

ROOT = Path(__file__).parents[2]
NAMES = names()


def test_all_scripts_are_found():
    files = {path.stem for path in (ROOT / "scenarios").glob("*.py") if not path.stem.startswith("_")}
    assert set(NAMES) == files
    assert "free_riding" in files


#: less than usual of what takes long; no check depends on how much
FEW = {
    "cost_discrimination": ["fractions=0.1,0.5,1"],
    "free_riding_collapse": ["sizes=1,2,5"],
    "gpt3": ["companies=1700", "points=5"],
    "market_attacks": ["attacks=sign_flip,nan", "seeds=2"],
    "market_comparison": ["splits=niid", "seeds=2"],
    "market_liars": ["factors=2", "seeds=1"],
    "mechanism_by_population": ["owners=3", "seeds=1"],
    "mixed_population": ["changes=1", "seeds=1"],
    "proportional_rules": ["powers=0,1", "owners=300", "simulated=20"],
    "learning_to_lie": ["rounds=2", "tries=10"],
    "reciprocity_table_trained": ["data=digits", "seeds=2"],
    "scale_study": ["largest=100"],
    "screening": ["points=5"],
    "shaped_models": ["rounds=4", "interval=200"],
    "tournament": ['mechanisms=["no_payments", "shapley_share"]', "owners=2", "seeds=1"],
    "value_shaping": ["complexities=1", "points=4"],
}


def few(name):
    """Two seeds where a script takes several."""
    settings = FEW.get(name, ["seeds=2"] if "seeds" in find(name).defaults else [])
    return [word for setting in settings for word in ("--set", setting)]


#: need a pretrained model; `test_language_market` runs them with a small one
FETCHED = ("language_market", "shared_adapter")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FETCHED])
def test_two_steps_leave_frames_manifest_and_a_picture(name, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["run", name, "--steps", "2", "--quiet", "--out", str(out), *few(name)]
    assert main(words) == 0, capsys.readouterr().err
    frames = load(out)
    assert (len(frames.runs) and len(frames.owners)) or list(out.glob("*.csv"))
    assert json.loads((out / "manifest.json").read_text())["scenario"] == name
    pictures = list(out.glob("*.png"))
    assert pictures
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_says_what_it_asks_and_has_typed_parameters(name):
    script = find(name)
    assert script.question.endswith("?")
    assert len(script.question) <= 120
    settings = [f"{key}={text_of(value)}" for key, value in script.defaults.items()]
    assert script.parameters(settings) == script.defaults


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_a_program_of_its_own(name, monkeypatch, capsys):
    path = ROOT / "scenarios" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(path), run_name="__main__")
    assert stop.value.code == 0
    assert "--seed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("free_riding_collapse", "owners=-1"),
        ("free_riding_collapse", "highest=inf"),
        ("gpt3", "exponent=1e9"),
        ("gpt3", "worth=1e-9"),
        ("step_size_region", "cross="),
        ("value_shaping", "ceiling=1e-9"),
        ("welfare_two_owners", "ceiling=1e-9"),
    ],
)
def test_settings_without_a_picture_get_one_line(name, setting, tmp_path, capsys):
    assert main(["run", name, "--steps", "2", "--quiet", "--set", setting, "--out", str(tmp_path / "out")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize(("name", "setting"), [("value_shaping", "owners=2"), ("cost_discrimination", "fractions=1,1")])
def test_unusual_settings_still_leave_a_picture(name, setting, tmp_path):
    out = tmp_path / "out"
    assert main(["run", name, "--steps", "2", "--quiet", "--set", setting, "--out", str(out)]) == 0
    assert list(out.glob("*.png"))


def test_a_script_runs_by_itself(tmp_path):
    out = tmp_path / "out"
    finished = subprocess.run(
        [sys.executable, str(ROOT / "scenarios" / "free_riding.py"), "--steps", "2", "--out", str(out)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
    )
    assert finished.returncode == 0, finished.stderr
    assert "free_riding.png" in finished.stdout.replace("\n", "")
    assert len(load(out).runs) == 2
