"""What does an owner gain by free-riding or lying, under FedAvg, a subsidy and Shapley shares?

One federation on real data, three protocols: FedAvg without payments, 2P-UPBReD with a contribution subsidy (Doshi et
al. 2025) and M^Shap (Murhekar et al. 2025), paid from coalition models of the whole training.  One owner after the
other stops doing what the protocol expects: it free-rides (no data), or it lies (half of its data, and it says all).
The same seeds, data and draws with and without the change give the gain of the owner that changed, as a difference of
its own utilities in the last step: accuracy - cost + payment.

The subsidy pays what owners claim, so it punishes free-riders but rewards liars; Shapley shares are measured from the
models that owners send, so a lie has to show in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Scenario, run_script
from fedabm.accuracy import Oracle
from fedabm.checks import check_positive, check_whole
from fedabm.data import Dataset
from fedabm.figures import LINES, dress, last_step, mechanism_looks, panels, shared_legend
from fedabm.learning import SGD, Engine, Learning, Recipe, Rounds
from fedabm.papers import Preset, Protocol, Size, choose, doshi2025, engine_for, fed_avg, spread
from fedabm.strategies import FixedShare, FreeRider, Honest, Liar, Strategy
from fedabm.study import Study, generator

_KINDS: dict[str, Strategy] = {"free-rider": FreeRider(), "liar": Liar(FixedShare(0.5), contribution_factor=2.0)}
_NAMES = ("FedAvg", "2P-UPBReD", "M^Shap")
#: the mechanism behind each protocol, whose look it has
_RULES = dict(zip(_NAMES, ("NoPayments", "ContributionSubsidy", "ShapleyShare"), strict=True))


_PRESETS = {
    "quick": Preset(size=Size(6, 500, 60, "mlp"), rounds=8, seeds=4, recipe=Recipe(batch=10, optimiser=SGD(0.05))),
    "paper": Preset(
        size=Size(30, 1800, 200, "mnist_cnn"),
        rounds=50,
        seeds=5,
        recipe=Recipe(batch=32, optimiser=SGD(0.1)),
        permutations=102,
    ),
}


def run(
    study: Study,
    preset: Literal["quick", "paper"] = "quick",
    data: Literal["auto", "mnist", "digits", "fashion_mnist"] = "auto",
    highest_cost: float = 0.2,
    changes: int = 0,
    seeds: int = 0,
) -> None:
    """Growing shares of free-riders, then of liars; all data of an owner cost it between half and all of the highest.

    `changes` = 0 lets owners change one after the other, at most six and all but one; in runs shortened by --steps only
    the first.  `seeds` = 0 takes the preset's number.

    preset        size of the study: quick takes minutes, paper the sizes of the paper
    data          which data set (auto: the preset's own, or digits where its files are not at hand)
    highest_cost  what all data of the dearest owner cost it, in units of accuracy
    changes       how many owners change, one after the other (0: six, or all but one)
    seeds         how often it is repeated with new draws (0: as often as the preset says)

    Takes some minutes with preset=quick.
    """
    check_whole("changes", changes, 0)
    check_positive("highest_cost", highest_cost)
    chosen, dataset = _PRESETS[preset], choose(data, study.note)
    most = changes or (1 if study.steps else min(chosen.size.owners - 1, 6))
    for seed in chosen.series(study.seed, seeds):
        case = Case.of(chosen, dataset, seed, highest_cost, study.steps)
        for rule in case.protocols():
            study.simulate(case.scenario(rule, []), f"{rule.name}, honest, 0", seed)
            for kind, strategy in _KINDS.items():
                for count in range(1, most + 1):
                    people = [strategy] * count
                    study.simulate(case.scenario(rule, people), f"{rule.name}, {kind}, {count}", seed)
    outcomes = _outcomes(study)
    gains = _gains(outcomes)
    study.table(
        _table(gains), f"{dataset.name}: what the owner that changes gains by it, paired over seeds (95% intervals)"
    )
    study.picture(_figure(gains, outcomes, chosen.size.owners, dataset.name), "mixed_population")


@dataclass(frozen=True)
class Case:
    """One seed's owners, the same under every protocol."""

    preset: Preset
    engine: Engine
    costs: np.ndarray
    rounds: int
    seed: int

    @classmethod
    def of(cls, preset: Preset, dataset: Dataset, seed: int, highest: float, steps: int | None) -> Case:
        engine = engine_for(dataset, preset.size, seed)
        shares = generator(seed, "population").uniform(0.5, 1.0, preset.size.owners)
        return cls(preset, engine, highest * shares / engine.data.capacities, preset.shortened(steps), seed)

    def protocols(self) -> tuple[Protocol, ...]:
        """A subsidy of twice the highest cost; its first phase takes about ten steps."""
        subsidy, capacity = 2 * float(self.costs.max()), float(self.engine.data.capacities.max())
        return (
            fed_avg(),
            doshi2025.two_phase_upbred(0.1 * capacity / (subsidy - self.costs.max()), subsidy, at_most=30),
            Protocol("M^Shap", Honest(), self.preset.shares(seed=0)),
        )

    def scenario(self, rule: Protocol, others: list[Strategy]) -> Scenario:
        """The first owners do something else than expected."""
        owners, capacities = len(self.costs), self.engine.data.capacities
        strategies = [*others, *[None] * (owners - len(others))]
        steps = self.rounds + (rule.schedule.at_most or 0)
        starts = capacities if rule.name == "M^Shap" else capacities // 2
        return rule.scenario(self.accuracy(rule), self.costs, capacities, starts, strategies, steps=steps)

    def accuracy(self, rule: Protocol) -> Oracle:
        """A model in training; Shapley shares need those of coalitions, too."""
        if rule.name == "M^Shap":
            start = self.engine.data.capacities
            return Rounds(self.engine, self.preset.recipe, seed=self.seed, start=start, whole=True)
        return Learning(self.engine, self.preset.recipe, seed=self.seed, rounds=self.rounds)


def _outcomes(study: Study) -> pd.DataFrame:
    """The owners in each run's last step, with protocol, kind and number of those who do something else."""
    frames = study.frames
    labels = frames.runs["label"].str.split(", ", expand=True)
    runs = frames.runs[["run", "seed"]].assign(protocol=labels[0], kind=labels[1], count=labels[2].astype(int))
    return last_step(frames.owners).merge(runs, on="run")


def _gains(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Owner k - 1 is the k-th to change: its utility after the change less that before."""
    index = ["protocol", "seed", "kind", "count", "owner"]
    utility = outcomes.set_index(index)["utility"].sort_index()
    rows = []
    for protocol, seed, kind, count in outcomes[index[:-1]].drop_duplicates().itertuples(index=False):
        if count:
            before = (kind if count > 1 else "honest", count - 1)
            gain = utility[protocol, seed, kind, count, count - 1] - utility[protocol, seed, *before, count - 1]
            rows.append((protocol, seed, kind, count, float(gain)))
    return pd.DataFrame(rows, columns=["protocol", "seed", "kind", "count", "gain"])


def _table(gains: pd.DataFrame) -> pd.DataFrame:
    """The first to change, and the mean over all who change one after the other."""
    rows = []
    for kind in _KINDS:
        for protocol in _NAMES:
            mine = gains[(gains["kind"] == kind) & (gains["protocol"] == protocol)]
            first, width = spread(mine.loc[mine["count"] == 1, "gain"])
            mean, mean_width = spread(mine.groupby("seed")["gain"].mean())
            row = {"who changes": kind, "protocol": protocol, "seeds": mine["seed"].nunique(), "first gains": first}
            rows.append(
                row | {"+-": width, "mean gain": mean, "mean +-": mean_width, "verdict": _verdict(mean, mean_width)}
            )
    return pd.DataFrame(rows)


def _verdict(mean: float, width: float) -> str:
    if not abs(mean) > width:
        return "cannot be told from nothing"
    return "pays" if mean > 0 else "costs"


def _figure(gains: pd.DataFrame, outcomes: pd.DataFrame, owners: int, data: str) -> Figure:
    """The gain of the next to change, and the model's accuracy, against how many have changed."""
    figure, (left, middle, right) = panels(3, width=3.9, height=3.2)
    for panel, kind in ((left, "free-rider"), (middle, "liar")):
        for turn, protocol in enumerate(_NAMES):
            mine = gains[(gains["kind"] == kind) & (gains["protocol"] == protocol)].groupby("count")["gain"]
            mean, width = mine.agg(lambda g: spread(g)[0]), mine.agg(lambda g: spread(g)[1]).fillna(0.0)
            _line(panel, turn, mean.index + 0.05 * (turn - 1), mean, width)
        panel.axhline(0.0, color="0.3", linewidth=0.8)
        dress(panel, f"gain of the k-th {kind}", f"k, of {owners} owners", "change of its utility")
    riding = outcomes[outcomes["kind"] != "liar"].groupby(["protocol", "count", "seed"])["accuracy"].mean()
    for turn, protocol in enumerate(_NAMES):
        mine = riding[protocol].groupby("count")
        mean, width = mine.agg(lambda g: spread(g)[0]), mine.agg(lambda g: spread(g)[1]).fillna(0.0)
        _line(right, turn, mean.index + 0.05 * (turn - 1), mean, width)
    seeds = outcomes["seed"].nunique()
    dress(right, f"model on {data} ({seeds} seeds, 95%)", f"free-riders among {owners} owners", "mean test accuracy")
    shared_legend(figure, right)
    return figure


def _line(panel, turn: int, x: pd.Index, mean: pd.Series, width: pd.Series) -> None:
    name = _NAMES[turn].replace("M^Shap", r"$\mathcal{M}^{Shap}$").replace("2P-UPBReD", "2P-UPBReD (subsidy)")
    look = mechanism_looks(_RULES)[_NAMES[turn]]
    style = {"color": look.colour, "linestyle": LINES[turn], "marker": look.marker, "label": name}
    panel.errorbar(x, mean, width, capsize=3, **style)


if __name__ == "__main__":
    run_script(__file__)
