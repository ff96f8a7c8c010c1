"""What is published fits together: workflows, versions, hooks and what the pages say of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / ".github"
yaml = pytest.importorskip("yaml")


def read(name: str) -> dict:
    return yaml.safe_load((GITHUB / name).read_text("utf-8"))


def test_every_file_for_the_host_can_be_read() -> None:
    found = [path for path in GITHUB.rglob("*") if path.suffix in (".yml", ".yaml")]
    assert len(found) >= 6
    assert all(isinstance(yaml.safe_load(path.read_text("utf-8")), dict) for path in found)


def test_hosted_ci_is_the_one_of_a_desk_on_every_python_that_is_promised() -> None:
    job = read("workflows/ci.yml")["jobs"]["tests"]
    assert any(step.get("run") == ".ci/run" for step in job["steps"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [word.split(" :: ")[-1] for word in project["classifiers"] if "Python :: 3." in word]
    assert job["strategy"]["matrix"]["python"] == promised
    assert read("workflows/release.yml")["jobs"]["wheel"]["strategy"]["matrix"]["python"] == promised


def test_a_release_is_published_after_its_wheel_was_tried_and_without_any_secret() -> None:
    text = (GITHUB / "workflows" / "release.yml").read_text()
    jobs = read("workflows/release.yml")["jobs"]
    assert (jobs["wheel"]["needs"], jobs["publish"]["needs"]) == ("build", "wheel")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text
    assert "password" not in text


def test_hooks_run_the_tools_of_make_lint() -> None:
    hooks = read("pre-commit.yaml")["repos"][0]["hooks"]
    tools = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks}
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert lint is not None
    assert {line.split()[0].removeprefix("$(BIN)/") for line in lint[1].splitlines()} <= tools
    for words in re.findall(r"tests/\w+\.py", " ".join(hook["entry"] for hook in hooks)):
        assert (ROOT / words).exists()


def test_running_needs_less_than_testing() -> None:
    """`make run` installs the package alone, `make test` also what is for development."""
    text = (ROOT / "Makefile").read_text()
    runs, ready = text.index("$(RUNS): pyproject"), text.index("$(READY): $(RUNS)")
    assert "--editable .\n" in text[runs:ready]
    assert "[dev]" not in text[runs:ready]
    assert "[dev]" in text[ready:]
    assert re.search(r"^run: \$\(RUNS\)$", text, re.MULTILINE)
    assert re.search(r"^test: \$\(READY\)$", text, re.MULTILINE)
