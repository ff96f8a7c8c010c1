"""What kinds of knowledge that read the updates of a round ask of a training."""

from __future__ import annotations

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Oracle
from fedabm.knowledge.base import Knowledge
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.aggregated import check_of_updates

__all__ = ["check_shows_updates"]


def check_shows_updates(
    knowledge: Knowledge, accuracy: Oracle, server: Engine | None, *, coalitions: bool = True
) -> None:
    """Raise unless one model is learned, of coalitions' updates too, and the server's engine has the same network."""
    model = accuracy.inner
    if not accuracy.keeps_updates:
        what = f"{type(model).__name__} shows no updates to the server"
        raise InputError(f"{what}; train by Learning of fedabm.learning, or give knowledge=Measured()")
    if coalitions:
        check_of_updates(model.recipe, type(knowledge).__name__)  # type: ignore[attr-defined]
    size = model.engine.size  # type: ignore[attr-defined]
    if server is not None and server.size != size:
        sizes = f"{server.size} numbers but the owners' {size}"
        raise InputError(f"models of the server's engine have {sizes}; give both the same network")
