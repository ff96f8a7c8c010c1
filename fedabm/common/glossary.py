"""The words of tables, cards and pages, each with one meaning; the documentation has them as a page."""

from __future__ import annotations

__all__ = ["GLOSSARY"]

#: what words mean, by theme
GLOSSARY: dict[str, dict[str, str]] = {
    "Who takes part": {
        "owner": (
            "A data owner: it has data, knows what they cost, and decides how much to use and what to say. "
            "Clients or agents in other texts."
        ),
        "server": "Applies the rule. It sees what owners say and what it measures itself, never their costs.",
        "outside money": "Money that comes from, or goes to, somebody who is no owner. It never counts as welfare.",
    },
    "What owners do and say": {
        "contribution": "Data that an owner really uses in a round, from 0 to its capacity. In papers s_i or m_i.",
        "claim": "What an owner says it contributes. Nobody checks it unless a rule does.",
        "report": "All that an owner tells the server: claim, size of its data, cost, eagerness.",
        "eagerness": (
            "How much an owner wants others' data, a number that it states where models are traded (K_i of iPFL 2025)."
        ),
        "lie, deviation": "A report that is not the truth; or a contribution, a report or both other than expected.",
        "strategy": "What one owner does: contribution, report, tampering with its update, staying or leaving.",
    },
    "What it is worth": {
        "worth, accuracy": (
            "What a model is worth to an owner at a profile of contributions, before money and costs. In papers a_i(s)."
        ),
        "profile": "The contributions of all owners at one moment.",
        "cost": "What its own contribution costs an owner, a private function. In papers c_i.",
        "paid, payment": (
            "Money that an owner receives for a round; negative if it pays. A transfer says from whom to whom, and why."
        ),
        "utility": "Accuracy received, plus payment, less true cost. It is what owners maximise.",
        "welfare": "The sum of utilities, without outside money.",
    },
    "What the server knows": {
        "knowledge": (
            "What the server knows of worth: a curve that was announced or measured, scores of this round's "
            "updates, or nothing. A rule that needs more is refused."
        ),
        "evidence": (
            "What the server saw itself in a round: which updates it had to reject, and what the trained model is"
            " worth."
        ),
    },
    "How sure a result is": {
        "gap": "A proven bound on what any owner could still gain by another contribution.",
        "certified": (
            "Proven: the gap is at most the tolerance. It holds for the rule that is named, all owners, and the "
            "whole range that is stated."
        ),
        "found": "A search has found this, and nothing is proven: a better lie, or another equilibrium, may exist.",
        "theorem": "It follows from a published result; the reference stands beside it.",
        "at rest": (
            "Nobody has moved for a step, and nobody draws random numbers, learns or waits. A run at rest has "
            "converged only if its gap is certified, too."
        ),
        "open": "Somebody can still gain, or nothing is known.",
        "undecided": "A claim of a paper that was run, and of which the run is too short, or chance too large, to say.",
    },
}
