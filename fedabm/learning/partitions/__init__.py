"""Who has which samples: frozen rules with `split(dataset_or_labels, rng, users=None)` -> positions per owner."""

from fedabm.learning.partitions.base import Partition
from fedabm.learning.partitions.dirichlet import Clusters, Dirichlet
from fedabm.learning.partitions.flower import FromFlower
from fedabm.learning.partitions.rotated import Rotated, rotate
from fedabm.learning.partitions.sizes import IID, Natural, SizeSkew
from fedabm.learning.partitions.skew import ClassSkew, LabelMix, Shards

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
