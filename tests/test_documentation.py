"""Every public name says what it is."""

import importlib
import inspect
import pkgutil

import fedabm

MODULES = [
    "fedabm",
    *(
        module.name
        for module in pkgutil.walk_packages(fedabm.__path__, "fedabm.")
        if not module.name.startswith(("fedabm.scenarios", "fedabm.analysis"))
    ),
]


def public_names(module: str) -> list[str]:
    return getattr(importlib.import_module(module), "__all__", [])


def test_every_module_has_a_docstring_and_its_public_names_exist():
    silent = [module for module in MODULES if not inspect.getdoc(importlib.import_module(module))]
    absent = [
        f"{module}.{name}"
        for module in MODULES
        for name in public_names(module)
        if not hasattr(importlib.import_module(module), name)
    ]
    assert silent + absent == []


def test_every_public_name_and_method_has_a_docstring():
    silent = [undocumented(module, name) for module in MODULES for name in public_names(module)]
    assert [name for names in silent for name in names] == []


def undocumented(module: str, name: str) -> list[str]:
    """The public thing and its public methods, as far as nobody says what they are."""
    thing = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return []
    missing = [] if _said(thing) else [name]
    if inspect.isclass(thing) and thing.__module__.startswith("fedabm"):
        methods = {part: inspect.getattr_static(thing, part) for part in _methods(thing)}
        missing += [f"{name}.{part}" for part, method in methods.items() if not _said(method, thing, part)]
    return [f"{module}.{one}" for one in missing]


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
    assert undocumented("fedabm.games.costs", "silent") == ["fedabm.games.costs.silent"]
    assert undocumented("fedabm.games.costs", "Silent") == ["fedabm.games.costs.Silent.quiet"]
