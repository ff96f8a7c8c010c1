"""Pages that are made when the documentation is built: the reference, the gallery, notebooks and the ledger.

Docstrings of fedabm are plain text: paragraphs, `names`, indented formulas, columns of names and meanings, examples.
`as_markup` turns them into reStructuredText.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import logging
import pkgutil
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import fedabm
from fedabm.common.docstrings import sections_of
from fedabm.common.errors import FedabmError
from fedabm.common.glossary import GLOSSARY
from fedabm.study.library import Script, find, names

HERE = Path(__file__).parent
MADE = HERE / "_made"

#: rooms of the reference that users need most; all others follow
FIRST = (
    "simulation",
    "mechanisms",
    "strategies",
    "knowledge",
    "games",
    "solving",
    "shapley",
    "comparison",
    "auditing",
    "advice",
    "learning",
    "data",
)
PUBLIC = """\
Everything that these pages, the notebooks and the scenarios use comes from `fedabm` or from a module directly below
it, and all of it stands here, each name in one place. `dir(fedabm)` and `dir(fedabm.mechanisms)` show the same, and so
do editors and type checkers. What is not on this page is internal and may change with any release."""
#: the audit card of the landing page
CARD = "audit_card.html"
#: rooms of the reference by topic; what is in none of these follows
TOPICS = {
    "The game": ("games", "mechanisms", "strategies", "knowledge", "views", "shapley"),
    "Running and solving": ("simulation", "solving", "kernel", "study", "sweep", "specs"),
    "Learning": ("learning", "data"),
    "Judging rules": ("auditing", "comparison", "tournament", "behaviour", "environment", "testing"),
    "Results": ("results", "report", "live", "bridges"),
    "Papers": ("papers",),
}
#: rooms whose insides are nobody's business
HIDDEN = ("cli", "analysis", "scenarios")


def setup(app: Any) -> dict[str, Any]:
    """Make the pages before Sphinx looks for its sources."""
    app.connect("builder-inited", lambda app: make())
    app.connect("autodoc-process-docstring", _process)
    app.connect("build-finished", _card)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _card(app: Any, error: Exception | None) -> None:
    """The audit card that the landing page shows stands beside it."""
    if error is None and (MADE / CARD).exists():
        shutil.copy(MADE / CARD, Path(app.outdir) / CARD)


def _studies() -> None:
    """Pictures of the landing page and of tutorials, and an audit card, by the commands that the pages show."""
    from fedabm.cli import main

    logging.getLogger("MESA").setLevel(logging.WARNING)  # Sphinx shows every record of every library
    target = MADE / "pictures"
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for words in (
            ["init"],
            ["run", "study.toml", "--quiet", "--out", "hospitals"],
            ["audit", "study.toml", "--mechanism", "Shapley shares", "--quick", "--out", "card"],
            ["run", "best_lie", "--quiet", "--out", "lie"],
            ["run", "forty_owners", "--quiet", "--out", "forty"],
        ):
            with contextlib.redirect_stdout(io.StringIO()):
                done = main(words)
            if done != 0:
                raise RuntimeError(f"fedabm {' '.join(words)} ended with {done}")
        for picture in ("hospitals/comparison", "hospitals/owners", "lie/best_lie", "forty/forty_owners"):
            shutil.copy(f"{picture}.png", target)
        (page,) = Path("card").glob("*.html")
        shutil.copy(page, MADE / CARD)


def make() -> None:
    """Write all pages that are made."""
    shutil.rmtree(MADE, ignore_errors=True)
    (MADE / "reference").mkdir(parents=True)
    _studies()
    (MADE / "notebooks").mkdir()
    rooms = [one.name for one in pkgutil.iter_modules(fedabm.__path__) if one.ispkg and one.name not in HIDDEN]
    rooms.sort(key=lambda room: FIRST.index(room) if room in FIRST else len(FIRST))
    for room in rooms:
        _reference(room)
    _write("reference/index.md", _index(rooms))
    _public()
    _glossary()
    _gallery()
    root = HERE.parent
    for path in sorted((root / "analysis").glob("*.ipynb")):
        shutil.copy(path, MADE / "notebooks" / path.name)
    books = "\n".join(path.stem for path in sorted((MADE / "notebooks").glob("*.ipynb")))
    _write("notebooks/index.md", f"# Notebooks\n\n```{{toctree}}\n{books}\n```\n")
    shutil.copy(root / "analysis" / "REPRODUCTION.md", MADE / "ledger.md")
    _write("changelog.md", (root / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "](../"))


def _index(rooms: list[str]) -> str:
    """The reference by topic, with what every room is for."""
    others = [room for room in rooms if not any(room in named for named in TOPICS.values())]
    lines = [
        "# Reference",
        "",
        "{doc}`../public` is one table. Here is everything, by topic.",
        "",
    ]
    for topic, named in {**TOPICS, "Foundations": tuple(others)}.items():
        there = [room for room in named if room in rooms]
        lines += [f"## {topic}", ""]
        for room in there:
            lines += [f"- {{doc}}`fedabm.{room} <{room}>`: {_first_line(importlib.import_module(f'fedabm.{room}'))}"]
        lines += ["", "```{toctree}", ":hidden:", "", *there, "```", ""]
    return "\n".join(lines)


def _public() -> None:
    """One page with every public name, from the stubs that also `dir` and type checkers read."""
    lines = ["# What is public", "", PUBLIC, ""]
    for module in ("fedabm", *(f"fedabm.{name}" for name in fedabm.__all__ if inspect.ismodule(getattr(fedabm, name)))):
        package = importlib.import_module(module)
        lines += [f"## {module}", "", _first_line(package), "", "| name | what |", "|---|---|"]
        lines += [f"| `{name}` | {_first_line(getattr(package, name))} |" for name in dir(package)] + [""]
    _write("public.md", "\n".join(lines))


def _glossary() -> None:
    """The words of tables, cards and pages."""
    lines = ["# Glossary", "", "The words of tables, cards and pages, each with one meaning.", ""]
    for theme, words in GLOSSARY.items():
        lines += [f"## {theme}", "", *(row for word, said in words.items() for row in (word, f": {said}", ""))]
    _write("glossary.md", "\n".join(lines))


def _first_line(thing: Any) -> str:
    """What a thing is, as far as it says so itself: constants and types do not."""
    documented = inspect.ismodule(thing) or inspect.isclass(thing) or inspect.isroutine(thing)
    words = (inspect.getdoc(thing) or "").partition("\n")[0] if documented else ""
    return words.replace("|", "\\|")


def _reference(room: str) -> None:
    """One page per room: what it is for, and every module with its public names."""
    package = importlib.import_module(f"fedabm.{room}")
    found = [one.name for one in pkgutil.walk_packages(package.__path__, f"fedabm.{room}.")]
    title = f"fedabm.{room}"
    lines = [title, "=" * len(title), "", *as_markup((package.__doc__ or "").splitlines()), ""]
    for name in found:
        module = importlib.import_module(name)
        public = getattr(module, "__all__", None)
        if not public or hasattr(module, "__path__"):
            continue
        short = name.removeprefix("fedabm.")
        lines += [short, "-" * len(short), "", f".. automodule:: {name}", f"   :members: {', '.join(public)}", ""]
    _write(f"reference/{room}.rst", "\n".join(lines) + "\n")


def _gallery() -> None:
    """Every study with its question and parameters, and its picture where one is stored."""
    lines = ["# Gallery", "", "Every study of the package, and the question that it answers.", ""]
    for name in names():
        script = find(name)
        lines += [f"## {name}", "", f"**{script.question}**", "", f"    fedabm run {name}", ""]
        text = (script.module.__doc__ or "").strip().partition("\n")[2].strip()
        lines += [re.sub(r"(?<!\s)\s*\n(?!\n)", " ", text), ""] if text else []
        picture = HERE / "gallery" / f"{name}.png"
        if picture.exists():
            lines += [f"![{script.question}](../gallery/{name}.png)", ""]
        if _described(script):
            lines += [f"The model in full: [ODD protocol](odd/{name}.md)", ""]
    _write("gallery.md", "\n".join([*lines, "```{toctree}", ":hidden:", ":glob:", "", "odd/*", "```", ""]))


def _described(script: Script) -> bool:
    """Write the ODD protocol of a scenario, if it simulates federations, and its data are here."""
    from fedabm.cli.describe import described
    from fedabm.report.odd.protocol import elements
    from fedabm.report.odd.text import markdown

    if ".simulate(" not in inspect.getsource(script.module):
        return False  # it solves or sweeps, which would have to be done to hear what it asks for
    try:
        with warnings.catch_warnings(action="ignore"):
            model = described(script, [])
    except FedabmError:
        return False
    (MADE / "odd").mkdir(exist_ok=True)
    _write(f"odd/{script.name}.md", markdown(f"{script.name}: ODD protocol", elements(model)))
    return True


def _write(name: str, text: str) -> None:
    (MADE / name).write_text(text, "utf-8")


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_markup(lines)


def as_markup(lines: list[str]) -> list[str]:
    """Plain docstrings as reStructuredText.

    >>> as_markup(["Pay |x| by `rate`.", "", "    p = r * s", "", ">>> 1", "1"])
    ['Pay \\\\|x\\\\| by ``rate``.', '', '::', '', '    p = r * s', '', '', '>>> 1', '1', '']
    """
    head, *sections = sections_of("\n".join(lines).strip("\n")).items()
    made = [*_markup_of(head[1]), *(row for title, body in sections for row in ("", *_section(title, body)))]
    return made


def _section(title: str, body: str) -> list[str]:
    """Parameters or what is returned, as a list of definitions, and what follows them, such as an example."""
    listed, mark, rest = body.partition("\n\n>>>")
    rows = [row if row.startswith(" ") else f"``{row.replace('*', '')}``" for row in listed.split("\n") if row.strip()]
    after = ["", *_markup_of(">>>" + rest)] if mark else []
    return [f".. rubric:: {title}", "", *(_inline(row) if row.startswith(" ") else row for row in rows), "", *after]


def _markup_of(text: str) -> list[str]:
    made: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        rows = block.split("\n")
        if rows[0].lstrip().startswith(">>>"):
            made += [*rows, ""]
        elif _is_literal(rows):
            least = min(len(row) - len(row.lstrip()) for row in rows)
            made += ["::", "", *(f"    {row[least:]}" for row in rows), "", ""]
        elif all(row.lstrip().startswith("- ") or row.startswith("  ") for row in rows) and rows[0].startswith("- "):
            made += [*map(_inline, rows), ""]
        else:
            made += [*(_inline(row.strip()) for row in rows), ""]
    return made


def _is_literal(rows: list[str]) -> bool:
    """Formulas are indented; columns of names and meanings, tables and lists of rules keep their lines."""
    columns = [re.match(r"\s*\S+(\s\S+)*?\s{2,}\S", row) for row in rows]
    return rows[0].startswith("    ") or (len(rows) > 1 and all(columns)) or any("===" in row for row in rows)


def _inline(row: str) -> str:
    """Names in backticks as code; what else would be markup is escaped."""
    parts = re.split(r"(`[^`]+`)", row)
    return "".join(
        f"``{part[1:-1]}``" if part.startswith("`") else re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", part) for part in parts
    )
