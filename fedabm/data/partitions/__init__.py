"""Who has which samples: frozen rules with `split(dataset_or_labels, rng, users=None)` -> positions per owner."""

from fedabm.data.partitions.base import Partition
from fedabm.data.partitions.dirichlet import Clusters, Dirichlet
from fedabm.data.partitions.flower import FromFlower
from fedabm.data.partitions.rotated import Rotated, rotate
from fedabm.data.partitions.sizes import IID, Natural, SizeSkew
from fedabm.data.partitions.skew import ClassSkew, LabelMix, Shards

__all__ = [
    "IID",
    "ClassSkew",
    "Clusters",
    "Dirichlet",
    "FromFlower",
    "LabelMix",
    "Natural",
    "Partition",
    "Rotated",
    "Shards",
    "SizeSkew",
    "rotate",
]
