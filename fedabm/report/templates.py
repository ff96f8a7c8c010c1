"""Pages from templates: one skeleton, one style and one set of macros for all of them."""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

import fedabm
from fedabm.common.texts import visible

__all__ = ["rendered"]

_HOME = "fedabm.report"


def rendered(package: str, name: str, **values: Any) -> str:
    """A page by its template, which extends `skeleton.html` and may import from `macros.html`.

    Parameters
    ----------
    package, name : str
        Where the template lies.
    **values : Any
        What it shows, beside the `version`, which every template knows.

    Returns
    -------
    str
        The page.
    """
    make = Environment(
        loader=FunctionLoader(lambda wanted: _text(package if wanted == name else _HOME, wanted)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown_as_text,
    )
    return make.get_template(name).render(version=fedabm.__version__, **values).lstrip()


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _shown_as_text(value: Any) -> Any:
    """Names are anybody's: nothing in them is hidden, and none turns what stands beside it."""
    return visible(value) if type(value) is str else value
