"""What a row of the ledger is, and how its verdict follows from what was computed.

A row's function computes our numbers with the package's own code and returns a `Finding`: what we got, whether the
statement as printed holds, and, where the paper is wrong, whether the correct statement holds.

    reproduced                     the statement holds as printed
    reproduced after correction    it does not, but a corrected form of it does
    reproduced in part             some parts of it hold; about the others it is refuted, or what was run says nothing
                                   about them or about this stage only, see `standard`; the row says which
    not reproducible               it does not, and what holds instead is a different statement
    undecided                      it was run at the size `decisive`, and what it turns on is within the spread over
                                   seeds or out of that size's reach; the row says what would decide it
    not run here                   nothing was run at a size that could decide; the row says how to run it
    FAILED                         our numbers contradict what should hold: something is broken
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fedabm.common.errors import InputError, nearest

Verdict = Literal[
    "reproduced",
    "reproduced after correction",
    "reproduced in part",
    "not reproducible",
    "undecided",
    "not run here",
    "FAILED",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

__all__ = [
    "PAPERS",
    "VERDICTS",
    "Budget",
    "ClaimInterval",
    "Finding",
    "Paper",
    "Play",
    "Result",
    "Row",
    "Verdict",
    "corrected",
    "holds",
    "not_run",
    "refuted",
    "row",
    "rows_of",
    "select",
    "undecided",
]


@dataclass(frozen=True)
class Budget:
    """How much work the rows may do: `instances` random games per theorem, and whether rows may train models.

    With `decisive` they train at the size that decides, whether that was recorded or not.
    """

    name: str
    instances: int
    trains: bool = True
    decisive: bool = False


@dataclass(frozen=True)
class Play:
    """A scenario with its parameters, the data sets whose files it needs, and the first of its seeds."""

    scenario: str
    parameters: tuple[tuple[str, Any], ...] = ()
    data: tuple[str, ...] = ()
    seed: int = 0

    @classmethod
    def of(cls, scenario: str, needs: tuple[str, ...] = (), seed: int = 0, **parameters: Any) -> Play:
        """With the parameters by name; what `data` names is needed, too."""
        named = parameters.get("data", "auto")
        needed = needs if named in ("auto", "all") else (named, *needs)
        return cls(scenario, tuple(parameters.items()), needed, seed)

    @property
    def settings(self) -> dict[str, str]:
        """The parameters as `--set` takes them."""
        return {name: _text(value) for name, value in self.parameters}

    @property
    def command(self) -> str:
        """How to play it from the command line."""
        shown = (f" --set {name}={text}" for name, text in self.settings.items())
        return f"fedabm run {self.scenario}{''.join(shown)}" + (f" --seed {self.seed}" if self.seed else "")

    @property
    def recording(self) -> str:
        """How to record it."""
        return self.command.replace("fedabm run", "fedabm record", 1)


def _text(value: Any) -> str:
    """A parameter as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:g}"


@dataclass(frozen=True)
class ClaimInterval:
    """A number that a verdict rests on: its mean, half of its 95% interval, and what is printed, if anything is.

    The claim turns on whether it is above zero; `half` is nan where one seed has no spread.
    """

    name: str
    mean: float
    half: float
    printed: float | None = None


@dataclass(frozen=True)
class Finding:
    """What a row's function found: our value as text, the verdict that follows from it, why, and its numbers."""

    ours: str
    verdict: Verdict
    reason: str = ""
    intervals: tuple[ClaimInterval, ...] = ()


def holds(ours: str, as_printed: bool, note: str = "") -> Finding:
    """The statement is expected to hold as printed."""
    return Finding(ours, "reproduced" if as_printed else "FAILED", note)


def corrected(ours: str, as_corrected: bool, reason: str, *, as_printed: bool = False) -> Finding:
    """The statement holds in a corrected form only; `reason` says what is wrong with the printed one."""
    if not as_corrected:
        return Finding(ours, "FAILED", reason)
    return Finding(ours, "reproduced" if as_printed else "reproduced after correction", reason)


def refuted(ours: str, instead: bool, reason: str, *, as_printed: bool = False) -> Finding:
    """The statement is not true; `instead` says whether what should hold in its place does."""
    if not instead or as_printed:
        return Finding(ours, "FAILED", reason)
    return Finding(ours, "not reproducible", reason)


def undecided(ours: str, why: str, remedy: str) -> Finding:
    """What was run at the size that decides leaves the statement open; `remedy` says what would decide it."""
    return Finding(ours, "undecided", f"{why}; what would decide: {remedy}")


def not_run(reason: str, ours: str = "") -> Finding:
    """Nothing was run that could decide."""
    return Finding(ours, "not run here", reason)


@dataclass(frozen=True)
class Row:
    """One artefact of a paper: its id, what is claimed, what is printed, and the function that checks it.

    `kind` is "c" (closed form), "t" (needs training) or "c,t"; `preset` is the command that shows it at work; `plays`
    are the scenarios that its check trains, `decisive` those that decide it, trained or recorded, and `planned` runs
    whose number was fixed before they were looked at and which decide once all of them are recorded; `judged_by` names
    the function that reads these, if it is not the check.
    """

    id: str
    kind: str
    claim: str
    published: str
    preset: str
    check: Callable[[Budget], Finding]
    plays: tuple[Play, ...] = ()
    decisive: tuple[Play, ...] = ()
    planned: tuple[Play, ...] = ()
    judged_by: str = ""


@dataclass(frozen=True)
class Result:
    """A row after it was run; the fields are those of the JSON output."""

    id: str
    claim: str
    published: str
    ours: str
    verdict: Verdict
    reason: str
    preset: str
    seconds: float
    intervals: tuple[ClaimInterval, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper: short name, title line, and the letter that its rows' ids begin with."""

    name: str
    title: str
    letter: str


PAPERS = (
    Paper("doshi2025", "Doshi et al. 2025: contributions and weights learned together", "D"),
    Paper("murhekar2023", "Murhekar et al. 2023: equilibria and budget-balanced welfare", "M"),
    Paper("murhekar2025", "Murhekar et al. 2025: reciprocity and Shapley shares", "R"),
    Paper("karimireddy2022", "Karimireddy et al. 2022: free-riding and accuracy shaping", "K"),
    Paper("ipfl2025", "iPFL 2025: a market for personalised models", "P"),
    Paper("donahue2021", "Donahue and Kleinberg 2021: model-sharing games", "S"),
    Paper("xu2021", "Xu et al. 2021 (CGSV): rewards by gradients", "G"),
    Paper("bornstein2023", "Bornstein et al. 2023 (RealFM): shaping with a payoff of accuracy", "A"),
    Paper("bornstein2024", "Bornstein et al. 2024 (FACT): a penalty and a game of three", "F"),
)

_ROWS: dict[str, Row] = {}


def row(
    id: str,
    claim: str,
    *,
    published: str = "",
    preset: str = "",
    kind: str = "c",
    plays: tuple[Play, ...] = (),
    decisive: tuple[Play, ...] = (),
    planned: tuple[Play, ...] = (),
    judged_by: str = "",
) -> Callable[[Callable[[Budget], Finding]], Callable[[Budget], Finding]]:
    """Register the function below as the check of row `id`."""

    def register(check: Callable[[Budget], Finding]) -> Callable[[Budget], Finding]:
        if id in _ROWS:
            raise InputError(f"row {id} is registered twice, got {claim!r}; give each row its own id")
        _ROWS[id] = Row(id, kind, claim, published, preset, check, plays, decisive, planned, judged_by)
        return check

    return register


def rows_of(papers: tuple[Paper, ...] = PAPERS) -> list[Row]:
    """All registered rows of these papers, in the order of their ids."""
    order = {paper.letter: place for place, paper in enumerate(papers)}
    chosen = [one for one in _ROWS.values() if one.id[0] in order]
    return sorted(chosen, key=lambda one: (order[one.id[0]], one.id))


def select(words: Sequence[str], rows: list[Row]) -> list[Row]:
    """The rows that these words name: papers by name, rows by id or by how their claim begins.

    >>> rows = [Row(id, "c", claim, "", "", lambda budget: not_run("")) for id, claim in (("D01", "a"), ("M02", "b"))]
    >>> [one.id for one in select(["doshi2025"], rows)], [one.id for one in select(["m02"], rows)]
    (['D01'], ['M02'])
    """
    papers = {paper.name: paper for paper in PAPERS}
    letters = {papers[word].letter for word in words if word in papers}
    within = [one for one in rows if not letters or one.id[0] in letters]
    others = [word for word in words if word not in papers]
    for word in others:
        if not any(_named(one, word) for one in within):
            raise InputError(f"unknown paper or row {word!r}; {_meant(word, rows)}")
    return [one for one in within if not others or any(_named(one, word) for word in others)]


def _meant(word: str, rows: list[Row]) -> str:
    """The paper or row that was probably meant; rows are too many to name them all."""
    papers = [paper.name for paper in PAPERS]
    hint = nearest(word, [*papers, *(one.id for one in rows)])
    every = f"papers are {', '.join(papers)}; all rows: fedabm reproduce --list"
    return hint if hint.startswith("did you mean") else every


def _named(one: Row, word: str) -> bool:
    """Whether a word is the id of a row, without the letter of a part or with it, or the beginning of its claim."""
    return word.upper() in (one.id.upper(), one.id[:3]) or one.claim.casefold().startswith(word.casefold())
