"""`fedabm reproduce`: tables, JSON, the page in Markdown, exit codes, and wrong words."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from fedabm.cli import reproduce as command
from fedabm.cli.parsers import command_line
from fedabm.common.errors import InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.papers.ledger.records import records_of
from fedabm.papers.ledger.render import counts, markdown, show
from fedabm.papers.ledger.rows import PAPERS, VERDICTS, Result, select
from fedabm.papers.ledger.runner import BUDGETS, ledger, reproduce
from fedabm.papers.ledger.standard import RULES
from tests.papers.rows import ARTEFACTS, IDS, TINY

FIELDS = ["id", "claim", "published", "ours", "verdict", "reason", "preset", "seconds", "intervals"]


def results_of_each_kind() -> list[Result]:
    return [
        Result(f"K{place:02d}", "a | b", "m*", "v_1 < [2]", verdict, "why", "fedabm run gpt3", 0.5)
        for place, verdict in enumerate(VERDICTS)
    ]


def test_markdown_has_a_line_per_row_and_keeps_signs() -> None:
    results = results_of_each_kind()
    page = markdown(results, TINY, dict.fromkeys((result.id for result in results), "c"))
    lines = [line for line in page.splitlines() if line.startswith("| K0")]
    assert len(lines) == len(VERDICTS)
    assert r"| K00 | a \| b | m\* | v\_1 \< [2] | **reproduced** | why | `fedabm run gpt3` | quick |" in lines
    assert f"| FAILED | 1 | K{len(VERDICTS) - 1:02d} |" in page
    assert "## Karimireddy" in page
    assert "Doshi" not in page


def test_console_shows_every_row_and_counts() -> None:
    results, console = results_of_each_kind(), Console(width=200, file=StringIO())
    show(results, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(result.id in text for result in results)
    assert "v_1 < [2]" in text
    assert text.count("fedabm run gpt3") == len(VERDICTS)
    each = ", ".join(f"1 {verdict}" for verdict in VERDICTS)
    assert f"{len(VERDICTS)} rows in {0.5 * len(VERDICTS):.0f} s: {each}" in text
    assert "FAILED" not in counts(results[:1])


def reproduce_command(*words: str) -> int:
    return command.run(command_line().parse_args(["reproduce", *words]))


@pytest.fixture
def few(monkeypatch):
    """Only three fast rows, with few instances."""
    chosen = [one for one in ledger() if one.id in ("R02", "K13", "M12")]
    monkeypatch.setattr(command, "ledger", lambda: chosen)
    monkeypatch.setitem(BUDGETS, "quick", TINY)


def test_json_is_a_list_of_objects_with_the_agreed_fields(few, capsys) -> None:
    assert reproduce_command("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [list(one) for one in found] == [FIELDS] * 3
    assert [one["id"] for one in found] == ["M12", "R02", "K13"]
    assert all(isinstance(one["seconds"], float) for one in found)


def test_failed_rows_give_exit_code_1(few, capsys, monkeypatch) -> None:
    monkeypatch.setattr(PowerLaw, "curve_slope", lambda self, x: 0 * x + 0.1)
    assert reproduce_command("murhekar2025") == 1
    assert "1 FAILED" in capsys.readouterr().out


def test_the_page_is_written(few, capsys, tmp_path) -> None:
    assert reproduce_command("--write", str(tmp_path / "page.md")) == 0
    page = (tmp_path / "page.md").read_text()
    assert all(f"| {id} |" in page for id in ("R02", "K13", "M12"))
    assert "3 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("karimiredy2022",), "unknown paper or row 'karimiredy2022'; did you mean 'karimireddy2022'"),
        (
            ("Figure 99",),
            r"unknown paper or row 'Figure 99'; papers are doshi2025, .*; all rows: fedabm reproduce --list",
        ),
        (("--budget", "quik"), "unknown budget 'quik'; did you mean 'quick'"),
        (("karimireddy2022", "--write", "page.md"), "leave that out"),
        (("--write", "no/such/folder/page.md"), "cannot write"),
    ],
)
def test_wrong_words_are_refused_before_any_work(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reproduce_command(*words)


def test_rows_are_chosen_by_paper_id_and_the_beginning_of_their_claim() -> None:
    rows = ledger()
    for paper in PAPERS:
        ids = [one.id for one in rows if one.id[0] == paper.letter]
        assert [one.id for one in select([paper.name], rows)] == ids
    assert [one.id for one in select(["d02", "P17"], rows)] == ["D02", "P17a", "P17b"]
    assert [one.id for one in select(["murhekar2023", "table 1"], rows)] == ["M12", "M13"]
    assert select([], rows) == rows


def test_a_verdict_is_explained_by_its_function_and_files(few, capsys) -> None:
    assert reproduce_command("M12", "--explain") == 0
    told = capsys.readouterr().out
    assert "  computed by  fedabm.papers.murhekar2023.trained_rows.decided" in told
    assert "p_mean_table-decisive-mnist/: details.csv, order.csv, rounds.csv, summary.csv" in told
    assert told.count("(planned beforehand)") == 2
    assert "  why  MWFed > FedAvg: reproduced (" in told
    assert "recorded: " not in told
    assert told.endswith("  verdict  undecided\n")
    assert reproduce_command("R02", "--explain") == 0
    assert "  computed by  fedabm.papers.murhekar2025.theory.example_3" in capsys.readouterr().out


def test_the_list_says_what_every_row_rests_on(few, capsys) -> None:
    assert reproduce_command("--list", "--json") == 0
    listed = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert [listed["R02"][name] for name in ("size", "verdict")] == ["closed form", ""]
    assert [listed["M12"][name] for name in ("size", "verdict")] == ["decisive", "undecided"]
    assert reproduce_command("--list", "K13") == 0
    assert "1 rows, 0 recorded" in capsys.readouterr().out


def test_the_page_of_the_project_is_complete_and_without_failures() -> None:
    page = (Path(__file__).parents[2] / "analysis" / "REPRODUCTION.md").read_text()
    lines = [line.split(" | ") for line in page.splitlines() if line[:3] in {f"| {letter}" for letter in ARTEFACTS}]
    assert [cells[0].removeprefix("| ") for cells in lines] == IDS
    assert "FAILED**" not in page
    assert "\n".join(RULES) in page


def test_the_page_has_the_verdicts_that_the_records_give() -> None:
    page = (Path(__file__).parents[2] / "analysis" / "REPRODUCTION.md").read_text()
    recorded = [one for one in ledger() if one.kind == "t" and one.decisive and records_of(one.decisive)]
    for one in reproduce(recorded, TINY):
        line = next(line for line in page.splitlines() if line.startswith(f"| {one.id} |"))
        assert f" | **{one.verdict}** | " in line, f"{one.id}: write the page anew"


def test_only_what_needs_a_gpu_asks_for_one() -> None:
    waiting = [one for one in ledger() if one.kind == "t" and one.decisive and records_of(one.decisive)]
    asks = {one.id for one in reproduce(waiting, TINY) if "on a GPU" in one.reason}
    assert asks <= {"P14", "P16", "P17b", "P18b"}


def test_what_is_left_is_told_by_the_pace_of_the_whole_run() -> None:
    """Three of ten rows are done, at 1, 2 and 102 s: two in 101 s, so that seven take 353.5; also after a long row."""
    now = [0.0]
    bar = command._bar(Console(file=StringIO()), lambda: now[0])
    task = bar.add_task("", total=10)
    bar.start_task(task)
    for second in (1.0, 2.0, 102.0):
        now[0] = second
        bar.update(task, advance=1)
    assert bar.tasks[0].time_remaining == 354
    now[0] = 500.0
    assert bar.tasks[0].time_remaining == 354
