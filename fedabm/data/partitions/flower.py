"""Any partitioner of flwr-datasets (`pip install fedabm[hub]`)."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import MissingExtraError
from fedabm.data.partitions.base import Partition

__all__ = ["FromFlower"]


@dataclass(frozen=True)
class FromFlower(Partition):
    """A flwr-datasets partitioner, for instance `FromFlower(ShardPartitioner(10, partition_by="label", ...))`.

    The partitioner sees a table with the columns `index`, `label` and, if the set has users, `user`: name one of them
    as its `partition_by`.  Its randomness is its own seed's, not the run's.

    Parameters
    ----------
    partitioner : Any
        A partitioner of flwr-datasets.
    """

    partitioner: Any

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        try:
            hub = importlib.import_module("datasets")
        except ImportError:
            raise MissingExtraError("Flower's partitioners need flwr-datasets; run pip install 'fedabm[hub]'") from None
        columns = {"index": np.arange(len(labels)), "label": labels} | ({} if users is None else {"user": users})
        # A partitioner accepts a table only once, so a copy takes it and this one can be used again.
        partitioner = copy.deepcopy(self.partitioner)
        partitioner.dataset = hub.Dataset.from_dict({name: column.tolist() for name, column in columns.items()})
        owners = range(partitioner.num_partitions)
        return [np.asarray(partitioner.load_partition(k)["index"], dtype=np.int64) for k in owners]
