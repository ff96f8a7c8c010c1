"""iPFL 2025: the rows that need training, P08 to P16 and P19 to P28.

The quick runs take 300 samples per owner of large sets, or handwritten digits seen through noise, small networks and 12
rounds.  Where a claim is about the rule of the market (who earns, who is shut out, whether a lie pays) they can confirm
it; the paper shows those on CIFAR-10.  The recorded runs are the paper's but for their length, see `settings`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from fedabm.data.datasets import where_to_get
from fedabm.papers.ipfl2025.attacks import attacked
from fedabm.papers.ipfl2025.evidence import RunEvidence
from fedabm.papers.ipfl2025.judges import (
    at_length,
    best_of_all,
    improved,
    inclusive,
    languages,
    lying,
    lying_anew,
    rational,
)
from fedabm.papers.ipfl2025.longer import at_full, at_half
from fedabm.papers.ipfl2025.natural import NATURAL
from fedabm.papers.ipfl2025.planned import PlannedAttack, attacked_anew
from fedabm.papers.ledger.rows import Finding, Play, not_run
from fedabm.papers.ledger.standard import Length
from fedabm.papers.ledger.training import Tables, paper, trained

_SEEDS = 3
_DIGITS = "digits (seen through noise)"
_ROLES = "Fig. 5: inclusive market,"
_PARTS = {"NIID": 10, "Cluster": 9, "Skew": 10}
_NAMES = {"cifar10": "CIFAR-10", "fashion_mnist": "Fashion-MNIST"}
#: the quick runs of Figures 2 and 3: all rules on all partitions
_QUICK = {
    "cifar10": Play.of("market_comparison", data="cifar10", seeds=1),
    "fashion_mnist": Play.of("market_comparison", data="fashion_mnist"),
}
_HIGHEST = "highest utility, accuracy comparable or better"
_SHORT = (
    "8 rounds of 50 local steps where the paper has 50 of 200: the last round's trade counts for the rounds left out, "
    "and accuracies are those of an early stage"
)


_LONG = _SHORT.replace("8 rounds of 50 local steps", "24 rounds of 50 local steps (earlier seeds: 8)")
_MORE_ROUNDS = "more rounds, up to the paper's"
_BY_CONSTRUCTION = (
    "under pFedGraph the attacker falls by construction: it wants no model, and nobody is paid, so that it has 0"
)
_SEEN = "seed 10 was seen before the plan was committed and is left out; rivals are those of the earlier seeds"
_LETTERS = (
    f"the letters of FEMNIST: {where_to_get('femnist')}, then fedabm record "
    "market_comparison --set preset=paper --set data=femnist --set splits=natural --set owners=20"
)
_WRITERS = _SHORT.replace("50 of 200", "50 rounds of as many")
_FIGURE_5 = _SHORT.replace("50 local", "100 local").replace("50 of 200", "20 of 500")


def _deciding(scenario: str, data: str = "cifar10", **parameters: Any) -> Play:
    return Play.of(scenario, preset="decisive", data=data, **parameters)


def _one_split(data: str, part: str) -> Play:
    """All rules on one partition, three seeds."""
    return _deciding("market_comparison", data, splits=(part.lower(),), seeds=3)


def _planned(data: str, part: str) -> tuple[Play, ...]:
    """The market and its nearest rivals on CIFAR-10 at that length, a seed each, planned beforehand."""
    if data != "cifar10":
        return ()
    rules = ("iPFL", "pFedGraph", "FedAMP")
    chosen: dict[str, Any] = {"splits": (part.lower(),), "rules": rules, "rounds": 25, "seeds": 1}
    return tuple(Play.of("market_comparison", preset="paper", data=data, **chosen, seed=seed) for seed in (1, 2, 3))


def _longer(data: str, part: str) -> tuple[Play, ...]:
    """The market and training alone on CIFAR-10 with the paper's local steps, for half of its rounds."""
    if data != "cifar10":  # on Fashion-MNIST accuracies are comparable after a few short rounds
        return ()
    chosen: dict[str, Any] = {"splits": (part.lower(),), "rules": ("iPFL",), "rounds": 25, "seeds": 1}
    return (Play.of("market_comparison", preset="paper", data=data, **chosen),)


def _length(owners: int) -> Length:
    """Of the recorded runs: 50 local steps of 200."""
    return Length(50, (owners, owners), steps=(50, 200))


def _recorded(what: str, command: str, note: str = _SHORT, rounds: int = 50) -> RunEvidence:
    """What a run at the size that decides can say: trade has settled, so that it stands for this many rounds."""
    return RunEvidence(what, "decide", command, note, decisive=True, rounds=rounds, needs=_MORE_ROUNDS)


def _row(
    id: str,
    claim: str,
    published: str,
    quick: tuple[Play, RunEvidence],
    recorded: tuple[Play, RunEvidence],
    judge: Callable[..., Finding],
    also: tuple[Play, ...] = (),
    *,
    length: Length,
    planned: tuple[Play, ...] = (),
    decide: Callable[..., Finding] | None = None,
) -> None:
    """A row with a quick run and one that decides, judged alike unless `decide` is given.

    That reads also what was run `also` it and what was `planned`.
    """
    (play, small), (full, large) = quick, recorded
    trained(
        id,
        claim,
        published,
        (play,),
        partial(judge, evidence=small),
        small.command,
        decisive=(full, *also),
        planned=planned,
        decide=partial(decide or judge, evidence=large),
        length=length,
    )


def _figure_2() -> None:
    notes = {"cifar10": "", "fashion_mnist": "300 samples per owner, lambda = 2 where the paper has 0.001"}
    for first, (data, note) in zip((8, 11), notes.items(), strict=True):
        command = paper("market_comparison", data=data)
        small = RunEvidence(_NAMES[data], "confirm" if note else "nothing", command, note)
        for place, (part, owners) in enumerate(_PARTS.items()):
            _row(
                f"P{first + place:02d}",
                f"Fig. 2, {_NAMES[data]}, {part}: utility and accuracy",
                f"{_HIGHEST}; text: ahead of FedAMP by 1.75 points and 217.4 in utility",
                (_QUICK[data], small),
                (_one_split(data, part), _recorded(_NAMES[data], command)),
                partial(at_length, part=part, owners=owners),
                _longer(data, part),
                length=replace(_length(owners), decides=1, fresh=True),
                planned=_planned(data, part),
                decide=partial(at_half if data == "cifar10" else at_length, part=part, owners=owners),
            )


def _figure_3() -> None:
    cases = (
        ("P19", "cifar10", "Cluster", _deciding("market_attacks")),
        ("P21", "fashion_mnist", "NIID", _one_split("fashion_mnist", "NIID")),
    )
    for id, data, part, full in cases:
        name = f"{_NAMES[data]} {part}"
        command = paper("market_rationality", data=data, split=part.lower(), owners=str(_PARTS[part]))
        small = RunEvidence(name, "nothing" if data == "cifar10" else "confirm", command)
        _row(
            id,
            f"Fig. 3: utility distributions on {name}",
            "positive for every client",
            (_QUICK[data], small),
            (full, _recorded(name, command)),
            partial(_rational, part=part),
            length=_length(_PARTS[part]),
        )


def _rational(found: Tables, evidence: RunEvidence, part: str) -> Finding:
    """By the utilities of owners where nobody attacks, or in a study of several partitions."""
    table = found["honest"] if "honest" in found else found["spread"].query(f"split == '{part.lower()}'")
    return rational(table, evidence)


def _figure_4() -> None:
    names = {"shuffle": "shuffle", "sign_flip": "sign-flip", "constant": "same-value", "gaussian": "Gaussian"}
    command = paper("market_attacks", data="cifar10")
    small = RunEvidence(f"{_DIGITS}, 9 owners in 3 groups", "confirm", command)
    earlier = (_deciding("market_attacks"), _deciding("market_attacks", rules=("iPFL", "pFedGraph"), seeds=10))
    for place, (attack, name) in enumerate(names.items()):
        fresh, plan, note = _fresh(attack)
        trained(
            f"P{22 + place}",
            f"Fig. 4: {name} attack",
            "only under iPFL benign accuracy is kept and the attacker's utility falls",
            (Play.of("market_attacks", seeds=_SEEDS),),
            partial(attacked, evidence=small, attack=attack),
            command,
            decisive=earlier,
            planned=fresh,
            decide=partial(attacked_anew, evidence=_recorded("CIFAR-10 Cluster, 9 owners", command, note), plan=plan),
            length=replace(_length(9), fresh=True, first=plan.first),
        )


def _fresh(attack: str) -> tuple[tuple[Play, ...], PlannedAttack, str]:
    """The planned runs of an attack, how they decide, and how long they are."""
    if attack in ("shuffle", "sign_flip"):
        chosen: dict[str, Any] = {"attacks": ("sign_flip", "shuffle")}
        long: dict[str, Any] = {"rounds": 24, "seeds": 10, "seed": 10}
        pair = tuple(_deciding("market_attacks", **chosen, rules=(rule,), **long) for rule in ("iPFL", "pFedGraph"))
        return pair, PlannedAttack(attack, 10, _BY_CONSTRUCTION), _LONG
    first = _deciding("market_attacks", attacks=("gaussian", "constant"), rules=("iPFL",), seeds=21, seed=10)
    chosen = {"attacks": ("constant",), "rules": ("iPFL",), "seeds": 36}
    later = (_deciding("market_attacks", **chosen, seed=seed) for seed in (31, 67)) if attack == "constant" else ()
    return (first, *later), PlannedAttack(attack, 11, _SEEN), _SHORT


def _table_2() -> None:
    honest = "honest 617.295 (75.4 %)"
    cases = (
        ("P26", "size", "data size", (0.1, 0.5, 10.0), "0.1: -513.41 (66.9 %), 0.5: -9.951 (75.3 %), 10: 0 (75.4 %)"),
        ("P27", "cost", "cost", (2.0, 5.0, 10.0), "2, 5, 10: 0 (75.4 %)"),
    )
    play = Play.of("market_liars", factors=(0.1, 0.5, 2.0, 5.0, 10.0), seeds=_SEEDS)
    command = paper("market_liars", data="cifar10")
    small = RunEvidence(f"{_DIGITS}, NIID, 10 owners", "confirm", command)
    for id, lie, name, factors, printed in cases:
        trained(
            id,
            f"Table 2: lying about {name}",
            f"{honest}; {printed}",
            (play,),
            partial(lying, evidence=small, lie=lie, factors=factors),
            command,
            decisive=(_deciding("market_liars", seeds=2),),
            planned=(_deciding("market_liars", rounds=24, seeds=3, seed=2),),
            length=replace(_length(10), fresh=True),
            decide=partial(
                lying_anew, evidence=_recorded("CIFAR-10 NIID, 10 owners", command, _LONG), lie=lie, factors=factors
            ),
        )


def _figure_5() -> None:
    command = paper("inclusive_market", data="cifar10")
    quick = Play.of("inclusive_market", attack="gaussian", seeds=_SEEDS), RunEvidence(_DIGITS, "confirm", command)
    recorded = (
        _deciding("inclusive_market", attack="gaussian"),
        _recorded("CIFAR-10 Cluster", command, _FIGURE_5, rounds=20),
    )
    earlier = "accuracies on digits do not decide; six rounds of 20 steps on CIFAR-10 had buyers 0.7 points below alone"
    open_one = (quick[0], replace(quick[1], can="nothing", note=earlier))
    isolated = "buyers pay, sellers earn, attacker isolated"
    better = "buyers and traders get better models than alone"
    length = Length(20, (12, 12), steps=(100, 500), fresh=True)
    chosen: dict[str, Any] = {"preset": "paper", "data": "cifar10", "attack": "gaussian", "seeds": 1}
    planned = tuple(Play.of("inclusive_market", **chosen, seed=seed) for seed in (3, 4, 5))
    claim = f"{_ROLES} roles and isolation of the attacker"
    _row("P28a", claim, isolated, quick, recorded, inclusive, length=length)
    claim = f"{_ROLES} accuracies"
    _row("P28b", claim, better, open_one, recorded, improved, length=length, planned=planned, decide=at_full)


def _natural() -> None:
    """Rows on sets whose owners are given."""
    writers = paper("market_comparison", data="femnist", splits="natural", owners="20")
    natural = Play.of("market_comparison", data="femnist_digits", splits=("natural",), owners=12, seeds=1)
    stand_in = "digits of 12 writers and SimpleCNN stand for 62 classes, 20 writers and the paper's larger network"
    _row(
        "P15",
        "Fig. 2, FEMNIST: utility and accuracy",
        _HIGHEST,
        (natural, RunEvidence("FEMNIST digits", "nothing", writers)),
        (
            _deciding("market_comparison", "femnist_digits", splits=("natural",), owners=12, seeds=2),
            replace(_recorded("FEMNIST digits", writers, f"{stand_in}; {_WRITERS}"), can="confirm", needs=_LETTERS),
        ),
        partial(best_of_all, part="Natural", owners=12),
        length=Length(50, (12, 20)),
    )
    pacs, plays = _given("pacs", "PACS", 8, "pictures of 32 pixels"), _given("shakespeare", "Shakespeare", 10)
    figure_2 = "Fig. 2, {}: utility and accuracy"
    best = partial(best_of_all, part="Natural")
    eight, ten = (Length(50, (owners, owners), steps=(20, 200)) for owners in (8, 10))
    _row("P14", figure_2.format("PACS"), _HIGHEST, *pacs, partial(best, owners=8), length=eight)
    _row("P16", figure_2.format("Shakespeare"), _HIGHEST, *plays, partial(best, owners=10), length=ten)
    positive = "positive for every client"
    any_models = "not about accuracies: P01 proves it for any models, and P19 and P21 have the same criterion"
    (quick, small), (full, large) = pacs
    proven = replace(large, can="confirm", note=f"{any_models}; {large.note}")
    _row(
        "P20",
        "Fig. 3: utility distributions on PACS",
        positive,
        (quick, small),
        (full, proven),
        partial(_rational, part="Natural"),
        length=eight,
    )


def _given(
    data: str, name: str, owners: int, note: str = ""
) -> tuple[tuple[Play, RunEvidence], tuple[Play, RunEvidence]]:
    """A quick study of a set with given owners and one with the paper's network, and what they can say."""
    chosen: dict[str, Any] = {"splits": ("natural",), "owners": owners, "seeds": 1}
    command = paper("market_comparison", data=data, splits="natural", owners=str(owners))
    early = (
        f"6 rounds of 20 local steps with batches of 16 where the paper has 50 of {NATURAL[data].steps} with 64: trade "
        "and accuracies are those of an early stage"
    )
    short = "; ".join(filter(None, (note, early)))
    quick = Play.of("market_comparison", data=data, **chosen), RunEvidence(name, "nothing", command)
    full = RunEvidence(name, "nothing", command, short, decisive=True)
    return quick, (_deciding("market_comparison", data, **chosen), full)


def _table_1() -> None:
    """Accuracies of language models; their utilities in closed form are rows P17a and P18a."""
    cases = (
        (
            "P17b",
            "finance",
            "finance",
            "FIQA, TFNS, NWGI: Local 84.02, 80.58, 43.17; FedAvg 78.19, 81.25, 52.25; iPFL 85.47, 83.38, 56.25",
            "5 rounds of 20 steps",
            ((6, 6), (20, 10)),
        ),
        (
            "P18b",
            "finance_and_code",
            "finance and code",
            "NWGI, code: Local 50.61, 13.54; FedAvg 49.94, 15.00; iPFL 53.11, 15.85",
            "half the examples, 5 rounds of 10 steps and the likelihood of the first 24 tokens of held-out code",
            ((8, 8), (10, 10)),
        ),
    )
    for id, sets, name, published, less, (owners, steps) in cases:
        command = paper("language_market", sets=sets)
        instead = "50 rounds of 10" if sets == "finance" else "all examples, 50 rounds and a pass rate"
        small = (
            f"SmolLM2-135M with {less} stands for Llama-2-7B with {instead}, "
            "with 40 times the rate and a fortieth of the hold on the centre"
        )
        trained(
            id,
            f"Table 1, {name}: accuracies of a large language model",
            published,
            (),
            partial(_no_quick_run, command),
            command,
            decisive=(Play.of("language_market", _TEXTS[sets], preset="decisive", sets=sets, seeds=2),),
            decide=partial(languages, evidence=RunEvidence("SmolLM2-135M", "confirm", command, small, decisive=True)),
            length=Length(50, owners, steps=steps),
        )


#: what Table 1 needs: sets and the model
_TEXTS = {
    "finance": ("financial_sentiment", "smollm2"),
    "finance_and_code": ("financial_sentiment", "smollm2"),
}


def _no_quick_run(command: str) -> Finding:
    why = "needs a GPU with 16 GB or more (Llama-2-7B with LoRA, 500 steps of each owner), or an hour for SmolLM2"
    return not_run(f"{why}: {command}")


for _register in (_figure_2, _figure_3, _figure_4, _table_2, _figure_5, _natural, _table_1):
    _register()
