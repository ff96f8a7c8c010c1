"""What is known of a mechanism beyond its offers."""

from __future__ import annotations

from dataclasses import dataclass

from fedabm.games.traits import ANY_METHOD, Traits, trait

__all__ = ["RuleTraits"]


@dataclass(frozen=True)
class RuleTraits(Traits):
    """Promises of a rule, what it asks owners for, and what proofs and sweeps may rely on.

    budget_balanced  payments sum to zero at every profile
    equal_treatment  owners that are equal in every way are treated equally
    asks_cost        owners are asked to report their costs,
    asks_eagerness   how eager they are,
    asks_losses      and the losses of models on their own data
    ignores_size     the sizes that owners claim change no outcome, only how far a computation reaches
    reveals_bids     an offer may hold what another owner reports as its cost: a critical price is one
    promises         offers tell what the own contribution brings; without that no game under the rule can be solved
    stacks           batched along the last axis: offers, Jacobian and settling serve many runs at once, (runs, owners)
    separable        p_i is a multiple (at most 1) of the own contribution or cost, and something of the others' reports
    affine_in_cost   what the own contribution changes in benefit is affine in the rate of the own reported cost and
                     free of the others' costs (rules that do not ask for costs need not say so)
    potential        everyone has its exact Shapley share: an exact potential game (`fedabm.solving.potential`)
    """

    budget_balanced: bool = trait(default=True)
    equal_treatment: bool = trait(default=True)
    asks_cost: bool = trait()
    asks_eagerness: bool = trait()
    asks_losses: bool = trait()
    ignores_size: bool = trait("offers", "terms", "merits", "shares")
    reveals_bids: bool = trait()
    promises: bool = trait(default=True)
    stacks: bool = trait(ANY_METHOD)
    separable: bool = trait(ANY_METHOD)
    affine_in_cost: bool = trait(ANY_METHOD)
    potential: bool = trait(ANY_METHOD)
