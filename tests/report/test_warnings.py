"""What a reader is warned of before trusting the numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

import fedabm
from fedabm.mechanisms import ContributionSubsidy
from fedabm.report.concerns import concerns
from fedabm.report.folder import read
from fedabm.report.page import page
from fedabm.strategies import FreeRider, Honest, Quitter
from tests.conftest import Says
from tests.report.folders import saved, small, warned


def test_nothing_to_warn_about(tmp_path: Path) -> None:
    folder = saved(tmp_path / "good", small())
    assert concerns(read(folder)) == []
    assert "Nothing to warn about" in page(folder)


def test_a_run_that_does_not_converge(tmp_path: Path) -> None:
    frames = small(steps=1)
    assert not frames.runs["converged"].iloc[0]
    assert "warning: 1 of 1 run did not come to rest" in warned(saved(tmp_path / "x", frames))


def test_owners_that_lose(tmp_path: Path) -> None:
    folder = saved(tmp_path / "x", small(ContributionSubsidy(0.5), strategies=[Honest(), Honest(), FreeRider()]))
    assert "warning: 1 of 3 owners with negative utility" in warned(folder)
    assert "1 x free_rider" in warned(folder)


def test_a_budget_that_does_not_balance(tmp_path: Path) -> None:
    frames = small()
    loose = replace(frames, steps=frames.steps.assign(server_balance=-0.25))
    assert "warning: The budget is not balanced in 1 of 1 run" in warned(saved(tmp_path / "x", loose))


def test_updates_that_were_dropped_and_owners_that_left(tmp_path: Path) -> None:
    odd = small(strategies=[Honest(), Says(float("nan")), Quitter(Honest(), 0.0)])
    told = warned(saved(tmp_path / "x", replace(odd, steps=odd.steps.assign(present=2))))
    assert re.search(r"warning: \d+ reports? or model updates unusable and dropped", told)
    assert "note: 1 owner left the federation" in told


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    frames = small()
    owners = frames.owners.assign(utility=frames.owners["utility"].where(frames.owners["owner"] > 0, np.nan))
    folder = saved(tmp_path / "x", replace(frames, owners=owners))
    assert "problem: 1 owner with numbers that are not finite" in warned(folder)
    page(folder)


def test_interrupted_studies_and_unfinished_sweeps(tmp_path: Path, folders: dict[str, Path]) -> None:
    assert "problem: The study was interrupted" in warned(saved(tmp_path / "x", small(), complete=False))
    source = read(folders["failures"])
    more = replace(source, manifest={**source.manifest, "jobs": 9})
    assert any("5 of 9 jobs not done yet" in one.text for one in concerns(more))


def test_another_version_is_noted(tmp_path: Path) -> None:
    frames = small()
    old = replace(frames, runs=frames.runs.assign(fedabm="0.0.1"))
    assert f"note: Written by fedabm 0.0.1, drawn by {fedabm.__version__}" in warned(saved(tmp_path / "x", old))


def test_rest_away_from_equilibrium_and_gaps_that_are_not_certified(tmp_path: Path) -> None:
    frames = small()
    parts = [replace(frames, runs=frames.runs.assign(status="at rest", gap=gap)) for gap in (0.1, np.inf)]
    told = warned(saved(tmp_path / "x", *parts))
    assert "note: 1 run came to rest away from equilibrium" in told
    assert "note: 1 run without a certified gap" in told
