"""The first line of a checkpoint: which run it is of, and what wrote it.

It says the format's number, the version of the package, digests of the code that can change the run and of the schema
of what is saved, which run it is and of which scenario, and a checksum of all this and of what follows.  A checkpoint
that differs in any of these is not gone on with: numbers that were made by other code would mix with one's own.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from fedabm.common.digest import Content
from fedabm.common.sources import code_of
from fedabm.simulation.scenario import Scenario

__all__ = ["FORMAT", "Header"]

FORMAT = 11
#: what runs a scenario and saves it
_RUN_BY = "fedabm.simulation.checkpoint"
#: why a checkpoint that says something else is not gone on with; in the order in which it is looked at
_OTHERS = {
    "format": "another version of fedabm wrote it",
    "identity": "it is of another run",
    "schema": "it holds other values than this version saves",
    "code": "it was made by other code",
    "scenario": "it is of another scenario",
}


@dataclass(frozen=True)
class Header:
    """What the first line says beside the checksum."""

    identity: str | None
    scenario: str
    schema: str
    code: str
    version: str
    format: int = FORMAT

    @classmethod
    def of(cls, scenario: Scenario, identity: str | None, schema: str) -> Header:
        """What a checkpoint of a run says; without an `identity` it may be any run of the scenario."""
        content = Content.of(scenario)
        return cls(identity, content.digest, schema, code_of(*content.modules, _RUN_BY), version("fedabm"))

    def sealed(self, body: bytes) -> bytes:
        """The checkpoint with what is saved."""
        header = asdict(self)
        return json.dumps({**header, "checksum": checksum(header, body)}).encode() + b"\n" + body

    def opened(self, content: bytes) -> bytes:
        """What is saved in a checkpoint that says the same; ValueError if it is damaged or says something else."""
        first, _, body = content.partition(b"\n")
        try:
            header = json.loads(first)
            seal = header.pop("checksum")
            found = {name: header.get(name) for name in (*_OTHERS, "version")}
            whole = seal == checksum(header, body)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError("it does not begin like one") from None
        if found["format"] == FORMAT and not whole:
            raise ValueError("its checksum is wrong")
        self._check(found)
        return body

    def _check(self, found: dict[str, Any]) -> None:
        wanted = asdict(self)
        if self.identity is None:
            found, wanted = found | {"identity": None}, wanted | {"identity": None}
        other = next((name for name in _OTHERS if found[name] != wanted[name]), None)
        if other is not None:
            written = f", fedabm {found['version']}" if found["version"] != self.version else ""
            raise ValueError(f"{_OTHERS[other]}{written}")


def checksum(header: dict[str, Any], body: bytes) -> str:
    """Finds damage, not forgery: it has no key."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode() + b"\n" + body).hexdigest()
