"""iPFL 2025: what the text says about communication, and about accuracies of Table 1, rows P30 to P32."""

from __future__ import annotations

import pandas as pd

from fedabm.learning.engine.networks import build, count
from fedabm.papers.ipfl2025.printed import ACCURACIES, readings
from fedabm.papers.ipfl2025.settings import honest_owners, market_rules, market_setting
from fedabm.papers.ledger.rows import Budget, Finding, refuted, row
from fedabm.papers.ledger.standard import ClaimPart, joined
from fedabm.papers.ledger.trials import agree
from fedabm.simulation.model import Federation

#: bytes of a reported number; K, c and N are reported once, a bill comes and is answered in every round
_NUMBER, _ONCE, _EACH_ROUND = 8, 3, 2
#: up to which share of what models take anything counts as negligible: the text names none
_NEGLIGIBLE = 1e-3
_ROUNDS, _OWNERS = 50, 9


def _steps(rule: str) -> pd.DataFrame:
    """What is sent in three rounds on handwritten digits, and how many models owners have chosen."""
    setting = market_setting("quick", "digits", _OWNERS, "cluster", 3)
    data = setting.federated(0)
    owners, mechanism = honest_owners(setting, data), market_rules(setting)[rule]
    frames = Federation(setting.scenario(owners, setting.accuracy(data), mechanism)).run().frames()
    imports = frames.owners.groupby("step")["imports"].sum().to_numpy()
    return frames.steps[["models_up", "models_down"]].assign(imports=imports)


@row(
    "P30",
    "Section 3 and Local model training: owners report K, c and N once, which is negligible, and get one model a round",
    published="one-time uploads are negligible; a proximal centre instead of multiple models from collaborators",
    preset="fedabm run market_comparison",
)
def communication(budget: Budget) -> Finding:
    """Reports beside the models of the paper's 50 rounds on CIFAR-10; models up and down as frames count them."""
    model = 4 * count(build("simple_cnn", (3, 32, 32), 10, device="meta"))
    models = 2 * _ROUNDS * model
    once, all_of_it = _ONCE * _NUMBER, (_ONCE + _EACH_ROUND * _ROUNDS) * _NUMBER
    found = {rule: _steps(rule) for rule in ("FedAvg", "iPFL", "FedFomo")}
    own, plain, most = found["iPFL"], found["FedAvg"], found["FedFomo"]
    ours = (
        f"K, c and N take {once} bytes, models of {_ROUNDS} rounds on CIFAR-10 {models:,}: {once / models:.1g} of it; "
        f"with a bill and its answer in every round {all_of_it} bytes, {all_of_it / models:.1g}.  Models up and down "
        f"in a round of {_OWNERS} owners: iPFL {_sent(own)}, FedAvg {_sent(plain)}, FedFomo, where owners get what "
        f"they mix, {_sent(most)}; models chosen under iPFL {_range(own['imports'])}"
    )
    same = bool((own[["models_up", "models_down"]] == plain[["models_up", "models_down"]]).all(axis=None))
    fewer = bool((own["models_down"] < own["imports"]).any())
    parts = (
        ClaimPart(
            "what is reported is negligible",
            "reproduced" if all_of_it <= _NEGLIGIBLE * models else "not reproducible",
            f"criterion: at most {_NEGLIGIBLE:g} of what models take, as the text names no bound; the bill and whether "
            "it is paid, which Algorithm 1 has in every round and the sentence leaves out, are counted, too",
        ),
        ClaimPart(
            "no more models than in FedAvg",
            "reproduced" if same and fewer else "not reproducible",
            "one up and one down for an owner and round, also where it has chosen several",
        ),
    )
    return joined(ours, parts)


@row(
    "P31",
    "Section 1: with large language models 9 % higher model utility than the best baseline, by Table 1",
    published="9 % higher model utility than the best baseline method",
)
def best_baseline(budget: Budget) -> Finding:
    """The lead over the best baseline in every column of Table 1 and in means of them, in percent and in points."""
    points, percent = _leads(readings().drop("iPFL").max())
    text = ", ".join(f"{name} {points[name]:.2f} ({percent[name]:.1f} %)" for name in percent.index)
    ours = f"points (percent) above the best baseline in Table 1: {text}"
    none = bool(not any(agree(lead, 9, 0) for lead in (*points, *percent)))
    alone = _leads(readings().loc["Local"])[1]["mean of its owners"]
    reason = (
        f"ahead in every column, at most by {percent.max():.1f} %; the cell of pFedGraph on NWGI is missing from the "
        f"text and could only make a lead smaller.  Above training alone, not the best baseline, the mean of the eight "
        f"owners with code is {alone:.1f} % higher.  Arithmetic on the paper's table; its accuracies are rows P17b and "
        "P18b"
    )
    return refuted(ours, none and bool(percent.min() > 0), reason, as_printed=not none)


@row(
    "P32",
    "Section 2.1: 5.55 % improvement in accuracy on finance compared to other baselines, by Table 1",
    published="5.55 % improvement in accuracy",
)
def other_baselines(budget: Budget) -> Finding:
    """The lead in mean accuracy on finance over the best baseline, and over the mean of all that the text has."""
    baselines, name = readings().drop("iPFL"), "mean of finance"
    points, percent = (lead[name] for lead in _leads(baselines.max()))
    over_all, over_all_percent = (lead[name] for lead in _leads(baselines.mean()))
    low, high = _with_any_cell()
    ours = (
        f"mean of FIQA, TFNS and NWGI: {points:.2f} points ({percent:.1f} %) above the best baseline, {over_all:.3f} "
        f"points ({over_all_percent:.1f} %) above the mean of the five whose cells the text has"
    )
    best = agree(points, 5.55, 2) or agree(percent, 5.55, 2)
    parts = (
        ClaimPart(
            "5.55 above every baseline",
            "reproduced" if best else "not reproducible",
            "neither in points nor in percent; pFedGraph's cell on NWGI, which is missing from the text, could only "
            "make the lead over the best smaller",
        ),
        ClaimPart(
            "5.55 points above the mean of baselines",
            "no evidence",
            f"a reading chosen after the run, in which five baselines give {over_all:.3f}; with the sixth it is "
            f"{low:.2f} to {high:.2f} for any value of the missing cell in the range of the others",
        ),
    )
    return joined(ours, parts, "arithmetic on the paper's table; its accuracies are row P17b")


def _leads(others: pd.Series) -> tuple[pd.Series, pd.Series]:
    """By how much iPFL's accuracies exceed these, in points and in percent."""
    own = readings().loc["iPFL"]
    return own - others, 100 * (own / others - 1)


def _with_any_cell() -> tuple[float, float]:
    """The lead over the mean of all six baselines on finance, least and most, by the missing cell."""
    finance = ACCURACIES[["FIQA", "TFNS", "NWGI"]]
    others = finance.drop("iPFL")
    known = others["NWGI"].dropna()
    cells = (others.fillna(cell).to_numpy().mean() for cell in (known.max(), known.min()))
    low, high = (float(finance.loc["iPFL"].mean() - mean) for mean in cells)
    return low, high


def _sent(steps: pd.DataFrame) -> str:
    return f"{_range(steps['models_up'])} and {_range(steps['models_down'])}"


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low}" if low == high else f"{low} to {high}"
