"""iPFL 2025: what the text says about communication, row P30."""

from __future__ import annotations

import pandas as pd

from fedabm.learning.engine.networks import build, count
from fedabm.papers.ipfl2025.settings import honest_owners, market_rules, market_setting
from fedabm.papers.ledger.rows import Budget, Finding, row
from fedabm.papers.ledger.standard import ClaimPart, joined
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


def _sent(steps: pd.DataFrame) -> str:
    return f"{_range(steps['models_up'])} and {_range(steps['models_down'])}"


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low}" if low == high else f"{low} to {high}"
