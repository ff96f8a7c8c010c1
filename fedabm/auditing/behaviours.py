"""What owners do in the league and in the table of attacks, in words; all are done in every round."""

from __future__ import annotations

from collections.abc import Iterable

from fedabm.auditing.deviations import KINDS
from fedabm.auditing.league import BEST, PAIR

__all__ = ["FEW_STEPS", "IN_CLOSED_FORM", "TRAINED_WORDS", "described"]

#: what weakens attacks that hide within the spread of honest updates
FEW_STEPS = "weak where rounds have several steps, as here: the spread of single gradients that hides it is gone"

#: closed form: the best of its kind that was found, with the truth among those that were tried
IN_CLOSED_FORM: dict[str, str] = {
    BEST: "the best of all that one owner can claim and state at once",
    **KINDS,
    PAIR: "the best joint lie of two owners, with money between them",
}

#: trained models: what is played, whether it pays or not
TRAINED_WORDS: dict[str, str] = {
    BEST: "the lie of one owner that gains most among those that are played",
    PAIR: "two owners at once tell that lie, or ride free, whichever gains each of them more",
    "gives nothing": "contributes nothing",
    "claims twice": "claims twice the samples that it used",
    "claims half": "claims half the samples that it used",
    "size x4": "claims to have four times the data that it has",
    "cost x3": "states three times its cost",
    "cost / 3": "states a third of its cost",
    "free ride": "does not train, and sends back the model that it was sent",
    "delta weights": "does not train, and sends the last change of the model that it was sent",
    "disguised noise": "does not train, and sends noise that fades with the rounds",
    "random weights": "does not train, and sends small random numbers",
    "delta noise": "does not train, and sends that change with noise on it",
    "copy": "does not train, and sends a copy of another owner's update",
    "noisy labels": "trains on data of which half of the labels are wrong",
    "backdoor": "puts a trigger into half of its samples and gives these one label",
    "noise": "adds noise to its update",
    "nan": "sends what is no number",
    "sign flip": "sends the opposite of its update",
    "adaptive sign flip": "sends the opposite, more of it while the server uses it and less once it was rejected",
    "scaled": "sends ten times its update",
    "inner product": "sends the opposite of the others' mean, which it knows",
    "little is enough": f"sends the honest mean less as much as the spread of honest updates hides; {FEW_STEPS}",
    "min-max": f"goes as far off the mean as two honest updates are apart; {FEW_STEPS}",
    "sybils": "attackers all send the mean of what they have trained",
}


def described(names: Iterable[str], *, closed: bool) -> dict[str, str]:
    """Behaviours and what they are, those that are known.

    Parameters
    ----------
    names : iterable of str
        What behaviours are called.
    closed : bool
        Whether they are those of the closed half.

    Returns
    -------
    dict
        What each of them is, in the same order.
    """
    words = IN_CLOSED_FORM if closed else TRAINED_WORDS
    return {name: words[name] for name in names if name in words}
