"""Murhekar et al. 2025: the rows that need training and nothing else, R19, R21 and R23."""

from __future__ import annotations

import numpy as np

from fedabm.papers.ledger.rows import Finding, Play
from fedabm.papers.ledger.training import Tables, paper, seeds, trained, undecided
from fedabm.papers.ledger.trials import numbers

__all__ = ["fitted", "reciprocal", "stages"]

_RULES = ["M^0", "M^BG", "M^Shap"]


def reciprocal(found: Tables, command: str) -> Finding:
    """Table 1 of Murhekar 2025, quadratic: M^Shap takes most data, beats M^0, and it alone has reciprocity 1."""
    spread = found["spread"].pivot(index="mechanism", columns="measure", values="average").loc[_RULES]
    share, exact, ratio = (spread[name].to_numpy() for name in ("share %", "accuracy %", "reciprocity"))
    fair = found["summary"].set_index("mechanism")["1 within error"].astype(bool)
    ours = (
        f"quadratic, 2 owners, {seeds(found['summary'])}: share {numbers(share, 1)} %, "
        f"accuracy {numbers(exact, 1)} %, data gain {numbers(spread['data gain'], 2)}, reciprocity {numbers(ratio, 2)}"
    )
    most = share[2] > share[1] > share[0] and exact[2] > exact[0]
    claim = bool(most and fair["M^Shap"] and np.all(ratio[:2] < 1) and not fair[["M^0", "M^BG"]].any())
    said = "order of shares, accuracy above M^0's, only M^Shap has reciprocity 1 up to sampling"
    why = f"{'as' if claim else 'NOT as'} printed: {said}"
    return undecided(ours, f"the printed shares and gains belong to costs that are not given; {why}", command)


def fitted(found: Tables, command: str) -> Finding:
    """Appendix E: how well the group-weighted accuracy fits what was trained."""
    quality = found["summary"]["R^2"].iloc[0]
    ours = f"MNIST turned by 10, 90, 180 degrees, 6 owners, 2 seeds: the fit has R^2 = {quality:.3f}"
    return undecided(ours, "the printed weights belong to the paper's networks and sizes", command)


def stages(found: Tables, command: str) -> Finding:
    """Appendix F: payments of every stage sum to zero; whether an equilibrium is near is not certified."""
    table = found["summary"]
    first, last = table.iloc[0], table.iloc[-1]
    ours = (
        f"MNIST, 6 owners, 1 seed, {len(table)} stages: sums of payments up to {table['|sum of payments|'].max():.0e}; "
        f"an owner gives {first['samples of an owner']:.0f} samples in the first stage, "
        f"{last['samples of an owner']:.0f} in the last; accuracy {first['accuracy']:.2f}, then {last['accuracy']:.2f}"
    )
    return undecided(
        ours, "payments balance in each stage; nothing certifies that contributions are near equilibrium", command
    )


def _reciprocity() -> None:
    name = "reciprocity_table_trained"
    command = paper(name, data="quadratic")
    published = "share (3.3, 4, 99.6) %, data gain (1, 1.25, 31.18)"
    play = Play.of(name, data="quadratic")
    trained("R19", "Table 1: quadratic", published, (play,), lambda found: reciprocal(found, command), command)
    mnist = paper(name, data="mnist")
    claim, play = "Appendix E: fitted weights from training on rotated groups", Play.of(name, data="mnist")
    trained("R21", claim, "matrices of Appendix E", (play,), lambda found: fitted(found, mnist), mnist)
    claim = "Section 5.2, Appendix F: FedBR-Shap finds approximate equilibria while training and pays per stage"
    staged, play = paper("stage_payments", data="mnist"), Play.of("stage_payments", data="mnist", seeds=1)
    trained("R23", claim, "budget feasible payments per stage", (play,), lambda found: stages(found, staged), staged)


_reciprocity()
