"""Bridges to packages that do not go with the versions of this project: each in an environment of its own.

    .venv/bin/python -m tests.bridges [byzfl] [hub] [flower]

ByzFL, flwr-datasets and Flower are installed before the packages of the environment that runs this, and the tests that
are skipped without them run there.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: what to install, and what to run
WORK: dict[str, tuple[list[str], list[str]]] = {
    "byzfl": (["--no-deps", "byzfl"], ["-m", "pytest", "-q", "-rs", "tests/bridges/test_byzfl.py"]),
    "hub": (
        ["flwr-datasets", "datasets"],
        ["-m", "pytest", "-q", "-rs", "tests/data/test_partitions.py", "tests/bridges/test_hub.py", "-k", "flower"],
    ),
    "flower": (["flwr[simulation]"], ["-m", "pytest", "-q", "-rs", "tests/bridges/test_flower.py"]),
}


def environment(folder: Path, packages: list[str]) -> Path:
    """A fresh environment with these packages; all others are found beside."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    beside = [sysconfig.get_paths()["purelib"], *(path for path in sys.path if path.endswith("site-packages"))]
    place = next(folder.glob("lib/python*/site-packages"))
    (place / "beside.pth").write_text("\n".join([*dict.fromkeys(beside), str(ROOT)]) + "\n")
    return python


if __name__ == "__main__":
    for name in sys.argv[1:] or WORK:
        with tempfile.TemporaryDirectory() as home:
            packages, work = WORK[name]
            print(f"{name}: {' '.join(packages)}", flush=True)
            subprocess.run([environment(Path(home), packages), *work], cwd=ROOT, check=True)
