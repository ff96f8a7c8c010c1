"""Whose adapter is worth buying when owners of texts share a language model?

One frozen base for all, and an adapter of each owner.  The market iPFL beside training alone and the rivals of its
Table 1, on the same owners, texts and draws (iPFL 2025).
Finance: two owners each of three sets, who learn to name the mood of a sentence; with code five owners of CodeAlpaca
and three of NWGI.  Moods are compared to the letter, code by the likelihood of the held-out answers.  The first owner
may behave otherwise (first=free_rider, poisoner or liar): then what it gets, and what that does to the others.

The base is a real pretrained model: `fedabm data get minilm` (quick) or `fedabm data get smollm2`; needs the extra llm.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Federation, InputError, run_script
from fedabm.checks import check_count, nearest
from fedabm.data import Problem, problems
from fedabm.figures import (
    accuracy_against_utility,
    by_label,
    collaboration_graph,
    counted,
    owner_sums,
    panels,
    protocol_looks,
    run_summary,
    shared_legend,
    spread_words,
    styled,
    utility_spread,
)
from fedabm.learning import answers_to, pass_rate
from fedabm.market import import_table
from fedabm.papers import Sizes, ipfl2025
from fedabm.strategies import Attacker, Honest, Liar, Strategy
from fedabm.study import Study

First = Literal["honest", "free_rider", "poisoner", "liar"]
#: what the first owner may be: it sends back what it got, beneath a little noise; the opposite of what it learned; or
#: tells that it has twice its data
BEHAVIOURS: dict[str, Strategy] = {
    "honest": Honest(),
    "free_rider": Attacker(Honest(), "free_ride", 0.001, full=False, trains=False),
    "poisoner": Attacker(Honest(), "sign_flip", full=False),
    "liar": Liar(Honest(), size_factor=2.0),
}
RULES = ("Local", "FedAvg", "FedProx", "FedAMP", "CFL", "pFedGraph", "iPFL")


def run(
    study: Study,
    preset: Sizes = "quick",
    sets: ipfl2025.Sets = "finance",
    rules: tuple[str, ...] = RULES,
    first: First = "honest",
    roles: tuple[str, ...] = (),
    model: str = "",
    kind: Literal["causal", "encoder"] = "causal",
    checksum: str = "",
    owners: tuple[str, ...] = (),
    unit_tests: str = "",
    seeds: int = 1,
) -> None:
    """Run every rule with every seed.

    preset      size of the study: quick takes minutes, decisive an hour or so on a larger model, paper a GPU
    sets        whose texts: finance, or finance_and_code
    rules       ways of sharing models, by name
    first       how the first owner behaves: honest, free_rider, poisoner or liar
    roles       of the first owners, for instance buyer,seller: traders (everybody else), buyers and sellers
    model       another pretrained model: a folder, or NAME@REVISION of the hub, which needs its checksum
    kind        what that model is: causal (writes) or encoder (reads a text and names its mood)
    checksum    SHA-256 of the model's weights; preset=paper needs that of Llama-2-7B
    owners      other owners, as SET:EXAMPLES of the sets fiqa, tfns, nwgi and code, for instance fiqa:60,tfns:40
    unit_tests  file of JSON lines with prompt and test (or HumanEval's): the owners of code then write answers in the
                end, and these are run with their tests in a process with limits; for those who have a larger model
    seeds       how often it is repeated with new draws

    Takes some minutes with preset=quick, after `fedabm data get minilm`.
    """
    check_count("seeds", seeds)
    for rule in rules:
        if rule not in RULES:
            raise InputError(f"no rule is called {rule!r}; {nearest(rule, RULES)}")
    setting = ipfl2025.language_setting(preset, sets, checksum or None)
    setting = ipfl2025.with_owners(setting, owners) if owners else setting
    setting = ipfl2025.with_base(setting, model, kind, checksum or None) if model else setting
    if setting.coders and (sets == "finance" or (model and kind == "encoder")):
        raise InputError("owners of code write; take sets=finance_and_code and a causal model, or other owners")
    if unit_tests and not setting.coders:
        raise InputError("nobody writes code in finance; unit_tests go with sets=finance_and_code")
    asked = problems(unit_tests) if unit_tests else []
    yardsticks: list[dict[str, float | str]] = []
    passed: list[dict[str, float | str]] = []
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        accuracy = setting.accuracy(owned)
        people = setting.owners(owned, {0: BEHAVIOURS[first]}, roles)
        for rule in rules:
            made = study.simulate(
                setting.scenario(people, accuracy, ipfl2025.language_rules(setting)[rule]), rule, seed
            )
            passed += [{"label": rule, **row} for row in _passed(setting, made, asked)]
        yardsticks += setting.yardsticks(accuracy.engine, seed)
    found, owners = run_summary(study.frames), _owners(study, setting)
    what = f"{sets.replace('_', ' ')}, {setting.model if isinstance(setting.model, str) else setting.model.place}"
    words = f"{what}: last round's accuracy and utility over all rounds, {counted(seeds)}"
    study.table(_summary(found, owners), words)
    study.table(_spread(study), f"{what}: utilities of single owners over all rounds", "spread")
    study.table(_each(owners), f"{what}: owners, means over seeds", "owners")
    study.table(_measured(yardsticks, owners), f"{what}: accuracies beside those of simple means", "yardsticks")
    if passed:
        rates = pd.DataFrame(passed).groupby(["label", "owner"], sort=False)["passed"].mean().reset_index()
        study.table(rates, f"{what}: share of {len(asked)} problems whose unit tests pass", "unit_tests")
    _say(study, owners)
    study.picture(_figure(study, setting, found, owners, f"{what}; {spread_words(seeds)}"), "language_market")


def _passed(setting: ipfl2025.LanguageSetting, made: Federation, asked: list[Problem]) -> list[dict[str, float]]:
    """The share of problems that every owner of code solves in the end; nothing if there are none."""
    if not asked:
        return []
    base, models = setting.base(), made.learned.models
    network = setting.network()
    return [
        {"owner": owner, "passed": pass_rate(asked, answers_to(base, network, models[owner], asked, setting.template))}
        for owner in sorted(setting.coders)
    ]


def _owners(study: Study, setting: ipfl2025.LanguageSetting) -> pd.DataFrame:
    """One row per run and owner, with the set it has."""
    sets = {owner: name for owner, (name, _) in enumerate(setting.owned)}
    table = owner_sums(study.frames)
    return table.assign(set=table["owner"].map(sets))


def _summary(found: pd.DataFrame, owners: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation over seeds by rule, with the accuracy of every set beside it (Table 1)."""
    shown = by_label(found, ["accuracy", "utility", "imports"]).drop(columns=["imports s.d."])
    sets = owners.groupby(["label", "set"], sort=False)["accuracy"].mean().unstack()
    return shown.merge(sets[list(dict.fromkeys(owners["set"]))], left_on="label", right_index=True)


def _spread(study: Study) -> pd.DataFrame:
    """Who gains and who loses, by rule."""
    return utility_spread(owner_sums(study.frames), study.frames.owners)


def _each(owners: pd.DataFrame) -> pd.DataFrame:
    """What every owner has under every rule."""
    columns = ["accuracy", "utility", "payment", "imports", "exports"]
    return owners.groupby(["label", "owner", "set"], sort=False)[columns].mean().reset_index()


def _measured(yardsticks: list[dict[str, float | str]], owners: pd.DataFrame) -> pd.DataFrame:
    """By set: the commonest answer, TF-IDF on the own texts, the model without tuning, and every rule; means."""
    simple = pd.DataFrame(yardsticks).groupby("set", sort=False).mean()
    tuned = owners.groupby(["set", "label"], sort=False)["accuracy"].mean().unstack()
    return simple.dropna(axis=1, how="all").join(tuned[list(dict.fromkeys(owners["label"]))]).reset_index()


def _say(study: Study, owners: pd.DataFrame) -> None:
    """Where the market stands, whether its money is balanced, and who is better off in it than alone."""
    table = study.tables["summary"].set_index("label")
    balance = float(study.frames.steps["server_balance"].abs().max())
    study.note(
        f"Most utility: {table['utility'].idxmax()} ({table['utility'].max():.4g}); server's balance {balance:g}."
    )
    if {"iPFL", "Local"} <= set(owners["label"]):
        study.note(_against_alone(owners))


def _against_alone(owners: pd.DataFrame) -> str:
    """How much better owners are in the market than the same owners alone, with the standard error over owners."""
    points = 100 * owners.set_index(["label", "seed", "owner"])["accuracy"]
    better = points["iPFL"] - points["Local"]
    gained = f"{(better > 0).sum()} of {len(better)} gain, {(better < 0).sum()} lose"
    return (
        f"In the market owners are {better.mean():+.2f} +- {better.sem():.2f} points better than alone, on average; "
        f"{gained} (from {better.min():+.1f} to {better.max():+.1f})."
    )


def _figure(
    study: Study, setting: ipfl2025.LanguageSetting, found: pd.DataFrame, owners: pd.DataFrame, words: str
) -> Figure:
    """Accuracy against utility, accuracies by set, and who gives its adapter to whom in the market."""
    figure, (left, middle, right) = panels(3, width=4.4, height=4.2)
    accuracy_against_utility(left, found, "rules")
    _by_set(middle, owners, study.tables["yardsticks"].set_index("set")["majority"])
    _graph(study, setting, right)
    shared_legend(figure, left)
    figure.suptitle(words, fontsize="medium")
    return figure


def _by_set(panel: Axes, owners: pd.DataFrame, common: pd.Series) -> None:
    """One group of bars per set, one bar per rule, and a line at what the commonest answer would have."""
    table = owners.groupby(["set", "label"], sort=False)["accuracy"].mean().unstack()
    colours = styled(protocol_looks(table.columns), "palette")["palette"]
    places, width = np.arange(len(table)), 0.8 / len(table.columns)
    for place, label in enumerate(table.columns):
        shift = (place - (len(table.columns) - 1) / 2) * width
        panel.bar(places + shift, 100 * table[label], width, color=colours[label])
    panel.hlines(100 * common.reindex(table.index), places - 0.45, places + 0.45, color="black", linestyle="dashed")
    panel.set_xticks(places, [str(name) for name in table.index])
    panel.set(title="accuracy by set (dashed: commonest answer)", ylabel="accuracy, last round (%)")


def _graph(study: Study, setting: ipfl2025.LanguageSetting, panel: Axes) -> None:
    """Imports of the market's last round in the first seed; of the last rule, if there is no market."""
    runs = study.frames.runs
    chosen = runs[runs["label"] == "iPFL"] if (runs["label"] == "iPFL").any() else runs
    number = int(chosen["run"].iloc[0])
    owners = study.frames.owners[study.frames.owners["run"] == number]
    transfers = study.frames.transfers[study.frames.transfers["run"] == number]
    graph = import_table(transfers, len(setting.owned), int(owners["step"].max()))
    collaboration_graph(owners, graph, ax=panel)


if __name__ == "__main__":
    run_script(__file__)
