"""The shell completes commands, options, names and files."""

import shutil
import subprocess

import pytest

from fedabm.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_there_is_a_script_for_each_shell(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "tournament" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["fedabm", "sol"], {"solve"}),
        (["fedabm", "run", "free_riding_"], {"free_riding_collapse"}),
        (["fedabm", "run", "mine.t"], {"mine.toml"}),
        (["fedabm", "run", "free_riding", "--ch"], {"--checkpoint"}),
    ],
)
def test_bash_completes(typed, wanted, tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    (tmp_path / "fedabm.sh").write_text(capsys.readouterr().out)
    (tmp_path / "mine.toml").touch()
    words = " ".join(f"'{word}'" for word in typed)
    ask = f"source fedabm.sh; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _shtab_fedabm; echo ${{COMPREPLY[@]}}"
    asked = subprocess.run(["bash", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(asked.stdout.split()) == wanted
