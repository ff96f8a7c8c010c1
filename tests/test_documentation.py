"""Every public name says what it is."""

import importlib
import inspect
import pkgutil

import pytest

import fedabm

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(fedabm.__path__, "fedabm.")
    if not module.name.startswith(("fedabm.scenarios", "fedabm.analysis"))
)


def public_names() -> list[tuple[str, str]]:
    found = []
    for name in ["fedabm", *MODULES]:
        found += [(name, public) for public in getattr(importlib.import_module(name), "__all__", [])]
    return found


@pytest.mark.parametrize("module", ["fedabm", *MODULES])
def test_every_module_has_a_docstring_and_its_public_names_exist(module):
    loaded = importlib.import_module(module)
    assert inspect.getdoc(loaded)
    for name in getattr(loaded, "__all__", []):
        assert hasattr(loaded, name), name


def undocumented(module: str, name: str) -> list[str]:
    """The public thing and its public methods, as far as nobody says what they are."""
    thing = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return []
    missing = [] if _said(thing) else [name]
    if inspect.isclass(thing) and thing.__module__.startswith("fedabm"):
        missing += [
            f"{name}.{part}" for part in _methods(thing) if not _said(inspect.getattr_static(thing, part), thing, part)
        ]
    return missing


def _methods(kind: type) -> list[str]:
    own = [part for base in kind.__mro__ if base.__module__.startswith("fedabm") for part in vars(base)]
    described = (inspect.isroutine, inspect.isdatadescriptor)
    return sorted(
        {
            part
            for part in own
            if not part.startswith("_")
            and (any(check(inspect.getattr_static(kind, part)) for check in described))
            and not inspect.ismemberdescriptor(inspect.getattr_static(kind, part))
        }
    )


def _said(thing: object, kind: type | None = None, part: str = "") -> bool:
    text = inspect.getdoc(getattr(kind, part) if kind else thing)
    # A dataclass without a docstring of its own gets its signature as one.
    return bool(text) and not (inspect.isclass(thing) and text.startswith(f"{thing.__name__}("))


@pytest.mark.parametrize(("module", "name"), public_names())
def test_every_public_name_and_method_has_a_docstring(module, name):
    assert undocumented(module, name) == []


def test_the_check_notices_what_is_missing(monkeypatch):
    from fedabm.games import costs

    def silent():
        pass

    class Silent(costs.Cost):
        """Documented, but not all of it."""

        def quiet(self):
            pass

    Silent.__module__ = "fedabm.games.costs"
    monkeypatch.setattr(costs, "silent", silent, raising=False)
    monkeypatch.setattr(costs, "Silent", Silent, raising=False)
    assert undocumented("fedabm.games.costs", "silent") == ["silent"]
    assert undocumented("fedabm.games.costs", "Silent") == ["Silent.quiet"]
