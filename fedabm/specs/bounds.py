"""Which values the parameters of a class may have, by its own checks: `check_range("rate", self.rate, 0.0, 1.0)`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

__all__ = ["bounds_of"]


def bounds_of(kind: type) -> dict[str, str]:
    """Parameters that `__post_init__` checks, and what it wants of them in words.

    >>> from fedabm.mechanisms import Deposit
    >>> bounds_of(Deposit)
    {'amount': 'positive, or 0'}
    """
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if "__post_init__" in vars(one) and one.__module__.startswith("fedabm"):
            tree = ast.parse(textwrap.dedent(inspect.getsource(vars(one)["__post_init__"])))
            for call in ast.walk(tree):
                found.update(_bound(call))
    return found


def _bound(call: ast.AST) -> dict[str, str]:
    """The parameter that a call checks, with the words for it."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) < 2:
        return {}
    value = call.args[1]
    if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name) or value.value.id != "self":
        return {}
    words = _words(call.func.id, [_literal(one) for one in call.args[2:]])
    zero = any(one.arg == "zero" and _literal(one.value) is True for one in call.keywords)
    return {value.attr: f"{words}, or 0" if zero and words == "positive" else words} if words else {}


def _words(check: str, limits: list[Any]) -> str:
    if check == "check_range" and len(limits) >= 2:
        return "any number" if limits == [-1e100, 1e100] else f"from {_number(limits[0])} to {_number(limits[1])}"
    if check in ("check_whole", "check_count"):
        return f"a whole number, at least {_number(limits[0] if limits else 1)}"
    return "positive" if check in ("check_positive", "check_number") else ""


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
