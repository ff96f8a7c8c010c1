"""A federation as an environment for reinforcement learners; needs the extra `rl` (Gymnasium and PettingZoo).

actions      what a learner's numbers mean: data given, and what is said about it
federation   `FederationEnv`, a PettingZoo environment in which several owners learn
single       `OwnerEnv`, a Gymnasium environment in which one owner learns beside strategies
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedabm.common.errors import InputError

if TYPE_CHECKING:
    from fedabm.environment.federation import FederationEnv
    from fedabm.environment.single import OwnerEnv

__all__ = ["FederationEnv", "OwnerEnv"]

_PLACES = {"FederationEnv": "federation", "OwnerEnv": "single"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'fedabm.environment' has no attribute {name!r}")
    try:
        return getattr(import_module(f"fedabm.environment.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("gymnasium", "pettingzoo"):
            raise
        raise InputError(f"environments need {error.name}, which is not here; pip install 'fedabm[rl]'") from error
