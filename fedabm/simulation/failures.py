"""What goes wrong in a strategy, an agent or an attack of the user's own is told in one line: who, when, what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from fedabm.common.blame import failed_as
from fedabm.simulation.activation import Members

__all__ = ["as_user_error", "named", "raise_as_user_error"]


def named(who: Any, members: Members) -> str:
    """Whose doing it is: the class, and the first of its owners.

    >>> named(3.0, [4, 6])
    'float of owner 4 and 1 more'
    """
    several = f" and {len(members) - 1} more" if len(members) > 1 else ""
    return f"{type(who).__name__} of owner {members[0]}{several}"


@contextmanager
def as_user_error(who: Any, members: Members, when: str) -> Iterator[None]:
    """What a user's code raises within is raised again as a `UserCodeError` with the class, the owner and the step.

    Bad input that a strategy of this package complains about stays bad input; its own mistakes stay what they are.
    """
    try:
        yield
    except Exception as error:
        raise_as_user_error(error, who, members, when)


def raise_as_user_error(error: Exception, who: Any, members: Members, when: str) -> NoReturn:
    """Raise the error of somebody's code again, as one that says whose it is."""
    blamed = failed_as(error, f"{named(who, members)} failed {when}", who)
    if blamed is error:
        raise error
    raise blamed from error
