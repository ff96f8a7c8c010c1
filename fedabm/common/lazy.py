"""Public modules that import what they name when it is asked for.

The stub beside such a module (`__init__.pyi` beside `__init__.py`) is the one place where its names stand, as
`from fedabm.learning.engine.engine import Engine as Engine`: type checkers and editors read it, and so does `attach`.
The convention is `attach_stub` of Scientific Python, SPEC 1; its package takes longer to import than all of this.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `typing`, which takes half of the time that `import fedabm` may take
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fedabm.common.errors import MissingExtraError

__all__ = ["attach", "names_of"]


def attach(
    module: str, file: str, extra: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module, for the names in its stub.

    module   its `__name__`
    file     its `__file__`
    extra    what to install where a package that it needs is missing: `pip install 'fedabm[extra]'`
    """
    with open(file.rpartition(".")[0] + ".pyi", encoding="utf-8") as stub:
        homes = names_of(stub.read())

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])
        try:
            found = _imported(module, homes[name], name)
        except ModuleNotFoundError as error:
            if extra is None:
                raise
            raise _missing(module, extra, error) from error
        setattr(sys.modules[module], name, found)
        return found

    return find, lambda: sorted(homes), sorted(homes)


def names_of(stub: str) -> dict[str, str]:
    """The names that a stub exports, each with the module that it comes from.

    >>> names_of("from fedabm.results.store import load as load, save as save")
    {'load': 'fedabm.results.store', 'save': 'fedabm.results.store'}
    """
    homes = {}
    for statement in ("\n" + stub).split("\nfrom ")[1:]:
        home, _, imported = statement.partition(" import ")
        listed = imported.partition(")")[0] if imported.startswith("(") else imported.partition("\n")[0]
        for one in listed.strip("(\n ").split(","):
            if one.strip():
                homes[one.split()[-1]] = home
    return homes


def _imported(module: str, home: str, name: str) -> Any:
    """What is called so in its home; a submodule where the stub imports it from the package itself."""
    from importlib import import_module

    return import_module(f"{module}.{name}") if home == module else getattr(import_module(home), name)


def _missing(module: str, extra: str, error: ModuleNotFoundError) -> MissingExtraError:
    from fedabm.common.errors import MissingExtraError

    return MissingExtraError(f"{module} needs {error.name}, which is not here; pip install 'fedabm[{extra}]'")
