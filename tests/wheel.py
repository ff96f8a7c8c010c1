"""What is built is whole: source and wheel, installed into a fresh environment, run a scenario with its package data.

    .venv/bin/python -m tests.wheel

The packages that fedabm needs are those of the environment that runs this; nothing else of it is seen.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def build(folder: Path) -> Path:
    """The wheel, built from the source distribution as people would."""
    done = subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    print(
        f"built {sdist.name} ({sdist.stat().st_size // 1024} kB) and {wheel.name} ({wheel.stat().st_size // 1024} kB)"
    )
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """A fresh environment with the wheel; what it depends on is found beside."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    place = next(folder.glob("lib/python*/site-packages"))
    beside = [sysconfig.get_paths()["purelib"], *(path for path in sys.path if path.endswith("site-packages"))]
    (place / "beside.pth").write_text("\n".join(dict.fromkeys(beside)) + "\n")
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel], check=True)
    return python


def tried(python: Path, folder: Path) -> None:
    """What a user does first, where no checkout is."""
    for words in (
        ["list"],
        ["run", "free_riding", "--steps", "3", "--out", "out", "--quiet"],
        ["report", "out"],
        ["init", "--game"],
        ["solve", "game.toml", "--json"],
        ["audit", "game.toml", "--quick", "--out", "card"],
        ["reproduce", "R01", "--list"],
    ):
        command = [python, "-m", "fedabm", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"fedabm {' '.join(words)}: {done.stderr}"
        print(f"fedabm {' '.join(words)}: fine")
    where = "import fedabm, fedabm.scenarios; print(fedabm.__file__, *fedabm.scenarios.__path__)"
    found = subprocess.run([python, "-c", where], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert str(ROOT) not in found, f"the checkout was used, not the wheel: {found}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "work").mkdir()
        tried(install(build(home / "built"), home / "fresh"), home / "work")
