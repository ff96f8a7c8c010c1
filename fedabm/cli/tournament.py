"""`fedabm tournament`: which behaviour survives under which mechanism?"""

from __future__ import annotations

import argparse

from fedabm.cli.run import USUAL, run_scenario

__all__ = ["tournament"]

#: enough to see who survives, in about a minute
_QUICK = ['mechanisms=["no_payments", "shapley_share"]', "seeds=3"]


def tournament(options: argparse.Namespace) -> None:
    """The scenario `tournament`, with strategies and mechanisms as words."""
    settings = list(_QUICK) if options.quick else []
    settings += [
        f"{name}=[{', '.join(_quoted(word) for word in words)}]"
        for name, words in (("strategies", options.strategy), ("mechanisms", options.mechanism))
        if words
    ]
    how = {"name": "tournament", "set": [*settings, *options.set]}
    run_scenario(argparse.Namespace(**USUAL | vars(options) | how))


def _quoted(text: str) -> str:
    """A name in quotes; a table as it is."""
    return text if text.lstrip().startswith("{") else f'"{text}"'
