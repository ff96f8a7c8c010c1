"""A statement as JSON, from which anybody computes the same: inputs, rule and version, with a digest of them.

`verify` settles anew what the document says was claimed, under the rule that it says was agreed, and compares.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, shown
from fedabm.common.files import read_bytes
from fedabm.common.sheet import Sheet
from fedabm.settlement.contract import contract_of
from fedabm.settlement.log import log_of
from fedabm.settlement.statement import Statement, settled

__all__ = ["document", "read_document", "verify"]

_FORMAT = "fedabm settlement 1"
#: amounts of another version or machine may differ by rounding
_ROUNDING = 1e-9


def document(statement: Statement) -> dict[str, Any]:
    """The statement with everything that it was computed from, and the digest of that."""
    inputs = {
        "format": _FORMAT,
        "version": version("fedabm"),
        "contract": statement.contract.as_dict(),
        "claims": statement.log.rows(statement.contract.names),
    }
    return {
        **inputs,
        "digest": _digest(inputs),
        "bills": [
            {
                "rounds": list(bill.rounds),
                "payments": {
                    name: float(paid)
                    for name, paid in zip(statement.contract.names, bill.payments, strict=True)
                    if not np.isnan(paid)
                },
            }
            for bill in statement.bills
        ],
        "totals": dict(zip(statement.contract.names, map(float, statement.totals), strict=True)),
        "outside": statement.outside,
        "transfers": statement.transfers().to_dict("records"),
        "doubts": statement.doubts,
    }


def read_document(path: str | Path) -> dict[str, Any]:
    """A document that `fedabm settle` has written."""
    try:
        found = json.loads(read_bytes(Path(path)).decode())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give the JSON of a statement") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not valid JSON; give the JSON that fedabm settle has written") from None
    keys = ("format", "version", "contract", "claims", "digest", "bills", "totals")
    if not isinstance(found, dict) or any(key not in found for key in keys) or found["format"] != _FORMAT:
        raise InputError(f"{path} is no statement of {_FORMAT!r}; give the JSON that fedabm settle has written")
    return found


def verify(found: dict[str, Any], source: str = "the statement", folder: Path = Path()) -> str:
    """Settle anew and compare; a line that says that all is as it is written, or `InputError`.

    Rules of one's own are looked for in `folder`.
    """
    inputs = {key: found[key] for key in ("format", "version", "contract", "claims")}
    if found["digest"] != _digest(inputs):
        raise InputError(
            f"{source}: the digest is not that of its inputs; somebody has changed them, ask for the original"
        )
    anew = document(_again(found, source, folder))
    for part in ("bills", "totals", "transfers"):
        if not _alike(found.get(part), anew[part]):
            raise InputError(f"{source}: {part} are not what its inputs give; do not pay by it, settle anew")
    what = f"{len(anew['bills'])} bills of {len(anew['totals'])} owners"
    return f"verified: {what} follow from the inputs {found['digest'][:12]}"


def _again(found: dict[str, Any], source: str, folder: Path) -> Statement:
    contract, rows = found["contract"], found["claims"]
    if not isinstance(contract, dict) or not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise InputError(f"{source}: contract or claims are damaged, got {shown(rows)}; ask for the original")
    names = sorted({str(name) for row in rows for name in row})
    columns = {name: [row.get(name) for row in rows] for name in names}
    agreed = contract_of(contract, source, (folder.resolve(),))
    return settled(agreed, log_of(Sheet(source, columns), agreed.names))


def _alike(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same up to rounding."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return bool(abs(one - other) <= _ROUNDING * max(abs(one), abs(other), 1.0))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return one is None and other is None


def _digest(inputs: dict[str, Any]) -> str:
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
