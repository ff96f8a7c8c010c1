"""TOML files and texts; what is wrong with one is said in one line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, with_point
from fedabm.common.files import read_bytes

__all__ = ["parse_toml", "read_toml", "toml_key", "toml_of"]


def read_toml(path: str | Path) -> dict[str, Any]:
    """The table in a TOML file."""
    try:
        return parse_toml(read_bytes(Path(path)).decode(), str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give the path of a TOML file") from None
    except UnicodeDecodeError:
        raise InputError(f"cannot read {path}: it is not UTF-8 text; give the path of a TOML file") from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The table in a TOML text; `source` says where it comes from."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{source} is nested too deeply; write less inside each other") from None
    except ValueError as error:  # also of numbers with thousands of digits
        said = str(error).splitlines()[0]
        found = re.search(r"line (\d+), column", said)
        line = text.splitlines()[int(found[1]) - 1] if found and int(found[1]) <= len(text.splitlines()) else ""
        comma = re.search(r"=\s*([+-]?\d+,\d+)", line)
        remedy = with_point(comma[1], "") if comma else "correct it there"
        raise InputError(f"{source} is not valid TOML: {said}; {remedy}") from None


def toml_of(value: Any) -> str:
    """A value as TOML writes it; what TOML has no word for raises TypeError.

    >>> toml_of({"rate": 0.1, "attacks": ["nan", True]})
    '{ rate = 0.1, attacks = ["nan", true] }'
    """
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml_of, value))}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(str(name))} = {toml_of(one)}" for name, one in value.items() if one is not None)
        return f"{{ {inner} }}"
    raise TypeError(f"no TOML for {value!r}")


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
