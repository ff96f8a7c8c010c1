"""A dataset of Hugging Face, divided by a partitioner of flwr-datasets, becomes owners' data."""

import numpy as np
import pytest

from fedabm.data.datasets import from_table
from fedabm.data.federated import from_partition
from fedabm.data.partitions import FromFlower


def test_a_table_of_hugging_face_is_dealt_by_a_partitioner_of_flower():
    hub = pytest.importorskip("datasets", reason="datasets is not installed; python -m tests.bridges hub runs this")
    flower = pytest.importorskip("flwr_datasets.partitioner", reason="flwr-datasets is not installed")
    rng = np.random.default_rng(0)
    table = hub.Dataset.from_dict({"x": rng.normal(size=(300, 4)).tolist(), "y": rng.integers(3, size=300).tolist()})
    dataset = from_table("mine", [table], "x", "y")
    parts = flower.DirichletPartitioner(num_partitions=5, partition_by="label", alpha=0.5, seed=1)
    data = from_partition(dataset, FromFlower(parts), seed=0, test_share=0.2, one_class="allow")
    assert data.owners == 5
    assert data.capacities.sum() + len(data.y_test) == 300
    assert len(set(data.capacities.tolist())) > 1
