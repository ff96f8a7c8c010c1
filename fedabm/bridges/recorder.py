"""A log of what Flower's clients said, round by round: their num-examples and metrics, which Flower's result drops.

    recorder = ReplyRecorder(name=lambda message: f"bank {message.metadata.src_node_id}")
    strategy = recorder.watch(FedAvg())
    strategy.start(grid, arrays, num_rounds=12)
    recorder.write("log.csv")

`fedabm settle study.toml log.csv` then says who owes whom.  Nothing of Flower is imported: a reply is whatever has
`metadata.src_node_id`, `content` and `has_error()`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, shown
from fedabm.common.files import write

__all__ = ["ReplyRecorder"]

#: what Flower calls the number of examples
_EXAMPLES = "num-examples"


class ReplyRecorder:
    """Keeps one row per round and client.

    Parameters
    ----------
    name : function, optional
        The owner's name, from a reply; by default the number of its node.
    """

    def __init__(self, name: Callable[[Any], str] | None = None) -> None:
        self._name = name or (lambda message: str(message.metadata.src_node_id))
        self.rows: list[dict[str, Any]] = []

    def watch(self, strategy: Any) -> Any:
        """The same strategy, whose replies to training are recorded before it aggregates them."""
        aggregate = strategy.aggregate_train

        def recorded(server_round: int, replies: Iterable[Any]) -> Any:
            kept = list(replies)
            self.replies(server_round, kept)
            return aggregate(server_round, kept)

        strategy.aggregate_train = recorded
        return strategy

    def replies(self, server_round: int, replies: Iterable[Any]) -> None:
        """Record all replies of a round; one with an error has no update that could be used."""
        for message in replies:
            if message.has_error():
                self.record(server_round, self._name(message), 0.0, rejected=True)
            else:
                metrics = _metrics(message.content)
                self.record(server_round, self._name(message), metrics.pop(_EXAMPLES, None), metrics)

    def record(
        self,
        server_round: int,
        owner: str,
        samples: float | None,
        metrics: Mapping[str, float] | None = None,
        *,
        rejected: bool = False,
    ) -> None:
        """Record what one owner said in one round.

        Parameters
        ----------
        server_round : int
            The round.
        owner : str
            Its name.
        samples : float
            Its num-examples: what it claims to have used.
        metrics : mapping, optional
            Whatever else it said, kept in columns `metric.NAME`.
        rejected : bool
            Whether its update was not used.
        """
        if samples is None:
            raise InputError(f"{owner} said no {_EXAMPLES} in round {server_round}; let clients send it as a metric")
        extra = {f"metric.{name}": value for name, value in (metrics or {}).items()}
        self.rows.append({"round": server_round, "owner": owner, "samples": samples, "rejected": rejected, **extra})

    def reject(self, server_round: int, owner: str) -> None:
        """Say that an update that is recorded was not used after all."""
        for row in self.rows:
            if row["round"] == server_round and row["owner"] == owner:
                row["rejected"] = True
                return
        raise InputError(f"nothing of {shown(owner)} is recorded in round {server_round}; record its reply first")

    def text(self) -> str:
        """The log as CSV; numbers are written so that they are read as the same."""
        names = list(dict.fromkeys(name for row in self.rows for name in row)) or ["round", "owner", "samples"]
        text = io.StringIO()
        table = csv.DictWriter(text, names, restval="", lineterminator="\n")
        table.writeheader()
        for row in self.rows:
            said = "yes" if row["rejected"] else "no"
            table.writerow({**row, "rejected": said})
        return text.getvalue()

    def write(self, path: str | Path) -> Path:
        """Write the log, which `fedabm settle` reads."""
        return write(Path(path), self.text())


def _metrics(content: Any) -> dict[str, float]:
    """All single numbers of all metric records of a reply."""
    records = content.metric_records.values() if hasattr(content, "metric_records") else [content]
    found = {}
    for record in records:
        found.update({name: one for name, one in dict(record).items() if isinstance(one, int | float)})
    return found
