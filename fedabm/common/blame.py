"""Whose code failed: the user's, or that of this package."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Any

from fedabm.common.errors import FedabmError, InputError, UserCodeError, in_one_line

__all__ = ["failed_as", "is_users"]

#: where Python and installed packages are
_INSTALLED = tuple(str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib"))


def is_users(error: BaseException, who: Any = None) -> bool:
    """Whether code of the user's own has raised an error, or has called what raised it.

    Parameters
    ----------
    error : BaseException
        What was raised and caught.
    who : object, optional
        The object, class or function that was called; one from outside this package is the user's.

    Returns
    -------
    bool
        False if nothing but this package, installed packages and Python took part: then it is a mistake of ours.
    """
    if who is not None and not _module(who).startswith("fedabm."):
        return True
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(not _known(frame.f_globals.get("__name__", ""), frame.f_code.co_filename) for frame in frames)


def failed_as(error: Exception, what: str, who: Any = None) -> Exception:
    """The error to raise in place of one that was caught.

    Parameters
    ----------
    error : Exception
        What was raised and caught.
    what : str
        Who failed and when, which the message begins with.
    who : object, optional
        The object, class or function that was called.

    Returns
    -------
    Exception
        A `UserCodeError` if code of the user's own took part, an `InputError` for bad input that this package
        complains about, and else the error itself; also one that says already which code of the user's has failed.
    """
    if isinstance(error, UserCodeError) and not is_users(error, who):
        return error
    if is_users(error, who):
        return UserCodeError(f"{what}: {in_one_line(error)}")
    return InputError(f"{what}: {in_one_line(error)}") if isinstance(error, FedabmError) else error


def _module(who: Any) -> str:
    """The module of a function or class, or of an object's class."""
    return str(getattr(who, "__module__", None) or type(who).__module__) + "."


def _known(module: str, file: str) -> bool:
    """Whether a frame is of this package or of an installed one."""
    return f"{module}.".startswith("fedabm.") or file.startswith(("<frozen", *_INSTALLED))
