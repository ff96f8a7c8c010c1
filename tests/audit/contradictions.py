"""What contradicts itself on a card: claims are checked against each other, in numbers and in words."""

from __future__ import annotations

import re

import numpy as np

from fedabm.auditing.card import Card

#: kinds of lies that are told in reports: the best lie of all is at least as good as the best of each
SAID = ("claim", "size", "cost", "fixed", "eagerness")
_SMALL = 1e-6


def contradictions(card: Card) -> list[str]:
    """All that cannot be true together."""
    found = [*_in_words(card), *_of_bounds(card), *_of_optima(card), *_of_lies(card), *_of_equilibria(card)]
    return [f"{card.rule}: {one}" for one in found]


def _in_words(card: Card) -> list[str]:
    """Numbers that are none."""
    texts = [claim.words for claim in card.claims] + [one.words for one in card.tried]
    return [f"no number: {text}" for text in texts if re.search(r"(?<![a-z])(-?inf|nan)(?![a-z])", text)]


def _of_bounds(card: Card) -> list[str]:
    """Gains above what is certified."""
    found = []
    for claim in card.claims:
        if (
            claim.status == "certified"
            and claim.name.startswith(("lies", "truth"))
            and claim.value > claim.bound + _SMALL
        ):
            found.append(f"{claim.name} gains {claim.value} above a certified {claim.bound}")
        if claim.holds is True and claim.flaw:
            found.append(f"{claim.name} holds and is a flaw")
    found += [f"{one.kind} gains {one.gain} above {one.bound}" for one in card.tried if one.gain > one.bound + _SMALL]
    return found


def _of_optima(card: Card) -> list[str]:
    """Equilibria above the optimum."""
    found = []
    for claim in card.claims:
        if claim.name.startswith("price") and np.isfinite(claim.value):
            best, reached = map(float, re.findall(r"is (\S+), .* has (\S+)", claim.words)[0])
            if claim.value < 1.0 or reached > best + _SMALL * abs(best):
                found.append(f"{claim.name} {claim.value}: {claim.words}")
    return found


def _of_lies(card: Card) -> list[str]:
    """Kinds of lies that gain more than the best lie, or gain on the table and not among the claims."""
    claims, found = {claim.name: claim for claim in card.claims}, []
    best = claims["truthfulness"]
    for one in card.tried:
        claim = claims.get(f"lies: {one.kind}")
        if claim is not None and abs(claim.value - one.gain) > _SMALL:
            found.append(f"{one.kind} gains {claim.value} among the claims and {one.gain} on the table")
        sure = claim is None or claim.holds is not None  # what cannot be told from chance may have a larger mean
        sure = sure and (best.holds is True or "training" not in claims)  # there another seed says which is best
        if one.kind in SAID and sure and one.gain > best.value + _SMALL:
            found.append(f"{one.kind} gains {one.gain}, and the best lie {best.value}")
        if claim is not None and claim.holds is False and best.holds is True:
            found.append(f"{one.kind} gains, and no lie does")
        if claim is not None and claim.holds is True and one.gain > 1e-3 * max(1.0, abs(best.value)):
            found.append(f"{one.kind} gains {one.gain} and is said not to")
    return found


def _of_equilibria(card: Card) -> list[str]:
    """Somebody gains by another contribution at what is a certified equilibrium."""
    claim = next(one for one in card.claims if one.name == "equilibria")
    by_contribution = max((one.gain for one in card.tried if one.kind == "contribution"), default=0.0)
    if claim.status == "certified" and claim.holds and by_contribution > _SMALL:
        return [f"certified, but {by_contribution} is gained by another contribution"]
    return []
