"""A league of a study's own: its owners, its curve and its rules meet all deviations, a draw of the study per seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedabm.auditing.league import League, played, spread_over
from fedabm.auditing.stage import Stage
from fedabm.common.errors import InputError, check_count
from fedabm.common.random import generator
from fedabm.comparison.written import Written, rules_of
from fedabm.games.accuracy import Accuracy
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.simulation.scenario import Scenario

__all__ = ["league_of_study"]

_Task = tuple[Written, str, Mechanism, int, int]


def league_of_study(
    written: Written,
    others: Mapping[str, Mechanism] | None = None,
    seeds: int = 5,
    questions: int = 60,
    workers: int = 1,
) -> League:
    """The rules of a study against every deviation on its owners; the rule without payments joins if it is missing.

    Parameters
    ----------
    written : Written
        The study, as read from a file.
    others : mapping of str to Mechanism, optional
        These rules in place of the study's.
    seeds : int
        How many draws of the study; one where nothing in it is random.
    questions : int
        The budget of the search for the best lie.
    workers : int
        How many processes.

    Returns
    -------
    League
        What deviations bring, and what rules achieve.
    """
    check_count("seeds", seeds)
    rules = dict(others or rules_of(written))
    if not rules:
        raise InputError("the study has no mechanisms for a league; add [mechanisms], or name some with --rules")
    if not isinstance(written.accuracy, Accuracy):
        raise InputError("a league needs an accuracy in closed form; fit one with fedabm calibrate")
    for name, rule in rules.items():
        if not rule.promises:
            raise InputError(f"{name} exchanges models, which no curve can play; leave it out")
    baseline = next((name for name, rule in rules.items() if rule == NoPayments()), None)
    if baseline is None:
        baseline = "no payments"
        rules = {baseline: NoPayments(), **rules}
    with spread_over(workers) as spread:
        tasks = [(written, name, rule, seed, questions) for name, rule in rules.items() for seed in range(seeds)]
        parts = list(spread(_one, tasks))
    rows, reached = ([row for part in parts for row in part[place]] for place in (0, 1))
    return League(pd.DataFrame(rows), pd.DataFrame(reached), baseline)


def _one(task: _Task) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One rule on one draw."""
    written, name, rule, seed, questions = task
    people = written.people(generator(seed, "population"))
    worth = written.world(generator(seed, "population", 1))
    rows, reached = played(Stage.of(Scenario(tuple(people), worth, rule)), name, seed, questions)
    facts = {"rule": name, "scheme": "closed", "seed": seed, "tuned": ""}
    return rows, [facts | {"measure": key, "value": value, "note": note} for key, (value, note) in reached.items()]
