"""Whether a mechanism gets from the server's knowledge what it needs, and what is said if it does not."""

from __future__ import annotations

from fedabm.common.errors import InputError, nearest
from fedabm.games.accuracy.base import Oracle
from fedabm.knowledge.base import Knowledge
from fedabm.knowledge.public import Public
from fedabm.mechanisms import Mechanism
from fedabm.views.known import KINDS, NEEDS, enough

__all__ = ["check_needs", "emptiness", "uncheckable"]


def check_needs(knowledge: Knowledge | None, mechanism: Mechanism, accuracy: Oracle) -> None:
    """Raise if the mechanism needs more than the server knows, unless the knowledge declares that it is nothing.

    Parameters
    ----------
    knowledge : Knowledge | None
        What the server knows; None: as the accuracy says.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    accuracy : Oracle
        What models are worth to owners at a profile of contributions.
    """
    rule, knows = type(mechanism).__name__, knowledge or Public()
    if mechanism.needs not in NEEDS:
        raise InputError(f"{rule} says it needs {mechanism.needs!r}; {nearest(str(mechanism.needs), NEEDS)}")
    if mechanism.reads_updates and not knows.shows_single:
        raise InputError(f"{rule} reads single updates, which secure aggregation hides; leave knowledge={knows!r} out")
    if not knows.declares_empty and emptiness(knows, mechanism, accuracy):
        raise InputError(f"{emptiness(knows, mechanism, accuracy)}; {_ways_out(mechanism)}")
    if knows != Public() and uncheckable(knows, mechanism, accuracy):
        raise InputError(f"{uncheckable(knows, mechanism, accuracy)}; give knowledge=Announced(curve) or Measured()")


def emptiness(knowledge: Knowledge, mechanism: Mechanism, accuracy: Oracle) -> str:
    """Why a mechanism is empty under this knowledge, in words; nothing if it is not.

    Parameters
    ----------
    knowledge : Knowledge
        What the server knows.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    accuracy : Oracle
        What models are worth to owners at a profile of contributions.

    Returns
    -------
    str
        Why, in words, or nothing.
    """
    kind = knowledge.kind(accuracy)
    if enough(kind, mechanism.needs):
        return ""
    rule, model = type(mechanism).__name__, type(accuracy.inner).__name__
    wanted = KINDS[NEEDS[mechanism.needs]]
    return f"{rule} needs {wanted}, but of {model} the server knows {KINDS[kind]}"


def uncheckable(knowledge: Knowledge, mechanism: Mechanism, accuracy: Oracle) -> str:
    """Why a mechanism that compares claims with worth finds none false, in words; nothing if it can.

    Parameters
    ----------
    knowledge : Knowledge
        What the server knows.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    accuracy : Oracle
        What models are worth to owners at a profile of contributions.

    Returns
    -------
    str
        Why, in words, or nothing.
    """
    if not (mechanism.checks_claims and knowledge.echoes(accuracy)):
        return ""
    rule, model = type(mechanism).__name__, type(accuracy.inner).__name__
    return f"{rule} fines false claims, but of {model} the server knows what the models that were sent are worth"


def _ways_out(mechanism: Mechanism) -> str:
    looks = ", FromUpdates() of fedabm.learning" if enough("coalitions", mechanism.needs) else ""
    return (
        f"give knowledge=Announced(curve), Measured() of fedabm.learning{looks}, or Nothing() to run it "
        'empty (a rule of your own that pays by reports only says needs = "nothing")'
    )
