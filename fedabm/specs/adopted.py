"""A rule in one word: its kind, a table with its parameters, or the JSON that `fedabm recommend` has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError
from fedabm.common.files import read_bytes
from fedabm.mechanisms import Mechanism
from fedabm.specs.words import value_of

__all__ = ["rule_written"]


def rule_written(what: str, text: str, folder: Path) -> Any:
    """What stands for a rule in TOML; files are looked for in `folder`.

    >>> rule_written("--mechanism", "shapley_share", Path())
    'shapley_share'
    >>> rule_written("--mechanism", '{ kind = "cost_sharing", rate = 0.6 }', Path())
    {'kind': 'cost_sharing', 'rate': 0.6}
    """
    return _recommended(folder / text) if text.endswith(".json") else value_of(what, text, Mechanism)


def _recommended(path: Path) -> Any:
    """The rule that a recommendation adopts."""
    remedy = "give the recommendation.json that fedabm recommend has written"
    try:
        found = json.loads(read_bytes(path).decode())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; {remedy}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not valid JSON; {remedy}") from None
    if not isinstance(found, dict) or "mechanism" not in found:
        raise InputError(f"{path} recommends nothing; {remedy}")
    if found["mechanism"] is None:
        raise InputError(f"by {path} no rule keeps all conditions; name one that was adopted all the same")
    return found["mechanism"]
