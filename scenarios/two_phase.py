"""Do contributions and weights that are learned together end at full data and the best model?

Example 1 of Doshi et al. 2025: two owners with costs 0.04 and 0.02 per unit, a_i(w, s) = 1 - |target - w|^2 / (s_1 +
s_2).  Under UPBReD the owners withdraw as soon as the weights are good, until nobody contributes any more; the
paper's w = (0.5, 1.5), s = (0, 5) is an equilibrium for these weights but no rest point, because the weights go on
learning.  Under 2P-UPBReD a subsidy first makes everyone contribute everything (phase 1, at most kappa steps), and
then the weights are trained (phase 2).  Money only changes hands, yet an owner with little data can lose by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm import Frames, Game, Scenario, population, run_script
from fedabm.accuracy import JointQuadratic, OwnerMessages, Phased, training_of
from fedabm.figures import last_step
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.solving import full_contribution_steps, weight_steps
from fedabm.strategies import GradientResponse
from fedabm.study import Study

_COLOURS = sns.color_palette("colorblind")
_PRECISION = 1e-6


def run(
    study: Study,
    costs: tuple[float, ...] = (0.04, 0.02),
    capacity: float = 5.0,
    gamma: float = 0.25,
    eta: float = 0.25,
    subsidy: float = 0.5,
    start: float = 1.0,
) -> None:
    """Run both algorithms on the same owners; the second also with eta = 1/M and with unequal capacities.

    costs     cost of a unit of data, one per owner
    capacity  data that every owner has
    gamma     step size of contributions
    eta       step size of the weights
    subsidy   money for each unit of data above the mean of the others, in the first phase
    start     data with which owners begin under 2P-UPBReD

    Takes seconds.
    """
    model = JointQuadratic(rate=eta)
    moves = GradientResponse(gamma)
    n = len(costs)
    everything = (capacity,) * n
    joint = Scenario(population(costs, capacity, moves, capacity), model, steps=1100)
    apart = replace(joint, owners=population(costs, capacity, moves, start), accuracy=Phased(model, everything))
    apart = replace(apart, mechanism=ContributionSubsidy(subsidy))
    smoothness = 2.0 / (n * capacity)
    fast = replace(apart, accuracy=Phased(replace(model, rate=1.0 / smoothness), everything))
    unequal = (0.5, *(10.0,) * (n - 1))
    unfair = Scenario(population(costs, unequal, moves, 0.5), Phased(model, unequal), ContributionSubsidy(2.0))
    cases = {"UPBReD": joint, "2P-UPBReD": apart, "2P-UPBReD, eta = 1/M": fast}
    paths = {label: _path(study.simulate(case, label).frames(), case) for label, case in cases.items()}
    losing = study.simulate(replace(unfair, steps=1100), "2P-UPBReD, unequal capacities").frames()
    bounds = {
        "kappa": full_contribution_steps(np.full(n, capacity), np.full(n, start), gamma, subsidy, max(costs)),
        "one step": weight_steps(smoothness, smoothness, model.error, _PRECISION),
    }
    study.table(_together(paths["UPBReD"], joint), "UPBReD: contributions and weights together", "upbred")
    study.table(
        _apart(paths, bounds, study.frames, losing), "2P-UPBReD: first contributions, then weights", "two_phase"
    )
    study.picture(_figure(paths, bounds["kappa"], eta), "two_phase")


def _path(frames: Frames, scenario: Scenario) -> pd.DataFrame:
    """Contributions s1, s2, ..., distance of the weights from the best ones and welfare, from step 0 on."""
    later = frames.owners.pivot(index="step", columns="owner", values="contribution").to_numpy()
    profiles = np.vstack([[owner.start for owner in scenario.owners], later])
    # The weights follow from the contributions alone.
    training = training_of(scenario.accuracy)
    states = [training.begin(0)]
    for profile in profiles[:-1]:
        states.append(training.round(states[-1], OwnerMessages.honest(profile))[0])
    models: list[Any] = [training.worth(state) for state in states]
    path = pd.DataFrame(profiles, columns=[f"s{i + 1}" for i in range(profiles.shape[1])])
    path["error"] = [model.error for model in models]
    path["welfare"] = [model.values(s[None]).sum() for model, s in zip(models, profiles, strict=True)]
    return path


def _together(path: pd.DataFrame, joint: Scenario) -> pd.DataFrame:
    """The printed end of Example 1 beside the corrected trace."""
    data = path.filter(regex=r"^s\d")
    rows = [(f"contributions after {t} steps", "", _numbers(data.iloc[t])) for t in (200, 500) if t < len(path)]
    rows += [
        (f"contributions at the end, step {len(path) - 1}", "(0, 5)", _numbers(data.iloc[-1])),
        ("distance from the best weights at the end", "0.7071", f"{path['error'].iloc[-1]:.4g}"),
        ("welfare (sum of accuracies) at the end", "1.8", f"{path['welfare'].iloc[-1]:.6g}"),
        ("nobody contributes any more from step", "never", _first(data.sum(axis=1) == 0)),
    ]
    printed = JointQuadratic(weights=(0.5, 1.5), rate=joint.accuracy.rate)
    game = Game(printed, [owner.cost for owner in joint.owners], joint.owners[0].capacity, NoPayments())
    claimed = np.r_[np.zeros(game.owners - 1), game.capacities[-1]]
    drift = np.subtract(printed.advance(claimed).weights, printed.weights) / printed.rate
    rows += [
        ("printed end: most an owner could gain for these weights", "0", f"{game.gap(claimed):.2g}"),
        ("printed end: slope of the mean accuracy in the weights", "(0, 0)", _numbers(drift)),
    ]
    return pd.DataFrame(rows, columns=["quantity", "paper", "here"])


def _apart(paths: dict[str, pd.DataFrame], bounds: dict[str, int], frames: Frames, losing: Frames) -> pd.DataFrame:
    """Bounds of Theorem 2 and Corollary 1 beside the steps that were needed."""
    slow, fast = paths["2P-UPBReD"], paths["2P-UPBReD, eta = 1/M"]
    full = _first(slow["error"] < slow["error"][0]) - 1
    budget = frames.owners.groupby(["run", "step"])["payment"].sum().abs().max()
    worst = last_step(losing.owners)["utility"].min()
    rows = [
        ("steps of phase 1 (kappa)", f"at most {bounds['kappa']}", full),
        (
            f"steps of phase 2 to weights within {_PRECISION:g}, eta as set",
            "",
            _first(slow["error"] < _PRECISION) - full,
        ),
        ("the same with eta = 1/M", bounds["one step"], _first(fast["error"] < _PRECISION) - full),
        ("welfare (sum of accuracies) at the end", "2", f"{slow['welfare'].iloc[-1]:.6g}"),
        ("largest sum of payments in any step", "0", f"{budget:.1e}"),
        ("worst utility with capacities (0.5, 10) and subsidy 2", "", f"{worst:.6g}"),
    ]
    return pd.DataFrame(rows, columns=["quantity", "paper", "here"]).astype(str)


def _first(condition: pd.Series) -> float:
    """The first step at which something holds; nan if it never does."""
    return int(np.argmax(condition)) if condition.any() else np.nan


def _numbers(values: pd.Series | np.ndarray) -> str:
    return f"({', '.join(f'{value:.6f}'.rstrip('0').rstrip('.') for value in values)})"


def _figure(paths: dict[str, pd.DataFrame], kappa: int, eta: float) -> Figure:
    """Contributions, distance of the weights and welfare over the steps, one column per algorithm."""
    sns.set_theme(style="whitegrid", context="paper")
    figure, axes = plt.subplots(3, 2, figsize=(8.6, 6.4), sharex="col", sharey="row", layout="constrained")
    for panels, label in zip(axes.T, ("UPBReD", "2P-UPBReD"), strict=True):
        _column(panels, paths[label], rf"$\eta={eta:g}$")
        panels[0].set_title(label)
        panels[2].set_xlabel("step")
    fast = paths["2P-UPBReD, eta = 1/M"]
    axes[1, 1].plot(fast.index, fast["error"].clip(lower=1e-17), ":", color=_COLOURS[1], label=r"$\eta=1/M$")
    for panel in axes[:, 1]:
        panel.axvspan(0, _first(fast["error"] < fast["error"][0]) - 1, color="0.88", zorder=0, label="phase 1")
        panel.axvline(kappa, color=_COLOURS[3], linestyle="--", linewidth=1.2, label=r"$\kappa$, eq. (9)")
    axes[2, 0].axhline(1.8, color="0.4", linestyle="-.", linewidth=1.2, label="printed end: 1.8")
    axes[0, 1].set_xlim(0, 300)
    axes[1, 0].set(yscale="log", ylim=(1e-12, 10))
    names = (
        "contribution\n(units of data)",
        r"distance from the best" + "\n" + r"weights, $|w-w^{OPT}|$",
        "sum of accuracies",
    )
    for panel, name in zip(axes[:, 0], names, strict=True):
        panel.set_ylabel(name)
    for panel in axes.flat:
        panel.legend(frameon=True, loc="lower left" if panel in axes[:2, 0] else "lower right")
    return figure


def _column(panels: np.ndarray, path: pd.DataFrame, label: str) -> None:
    """One algorithm's three panels."""
    for i, name in enumerate(path.filter(regex=r"^s\d")):
        panels[0].plot(path.index, path[name], color=_COLOURS[i], linestyle=("-", "--")[i % 2], label=f"owner {i + 1}")
    panels[1].plot(path.index, path["error"].clip(lower=1e-17), color=_COLOURS[0], label=label)
    panels[2].plot(path.index, path["welfare"], color=_COLOURS[0], label=label)


if __name__ == "__main__":
    run_script(__file__)
