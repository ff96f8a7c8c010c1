"""Several mechanisms on the same owners and seeds: what differs, and how surely.

- `comparison`  `compare(owners, mechanisms, seeds)`: runs all of them; means, paired differences, 95% intervals
- `picture`     the publishable figure of a comparison
- `written`     studies in TOML for people who do not program: `fedabm run study.toml`
- `example`     the commented file that `fedabm init` writes
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedabm.comparison.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'fedabm.comparison' has no attribute {name!r}")
    return getattr(import_module("fedabm.comparison.comparison"), name)
