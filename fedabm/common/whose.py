"""Whether something is all this library's own."""

from __future__ import annotations

from typing import Any

__all__ = ["all_ours"]


def all_ours(part: Any) -> bool:
    """Whether all of an object is this library's, which keeps to the rule that a row depends on nothing but itself."""
    parts = (getattr(part, name) for name in getattr(part, "__dataclass_fields__", ()))
    nested = (inner for inner in parts if hasattr(inner, "__dataclass_fields__"))
    return type(part).__module__.startswith("fedabm.") and all(map(all_ours, nested))
