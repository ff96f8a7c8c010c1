from fedabm.data.backdoor import Backdoor as Backdoor
from fedabm.data.datasets.base import Dataset as Dataset
from fedabm.data.datasets.base import standardise as standardise
from fedabm.data.datasets.files import data_folder as data_folder
from fedabm.data.datasets.hub import from_flower as from_flower
from fedabm.data.datasets.hub import from_hub as from_hub
from fedabm.data.datasets.hub import from_table as from_table
from fedabm.data.datasets.registry import download as download
from fedabm.data.datasets.registry import load_dataset as load_dataset
from fedabm.data.datasets.registry import status as status
from fedabm.data.federated import (
    FederatedData as FederatedData,
)
from fedabm.data.federated import (
    from_partition as from_partition,
)
from fedabm.data.federated import (
    split_owner as split_owner,
)
from fedabm.data.instructions import Problem as Problem
from fedabm.data.instructions import Task as Task
from fedabm.data.instructions import problems as problems
from fedabm.data.own import from_arrays as from_arrays
from fedabm.data.own import from_csv as from_csv
from fedabm.data.own import from_folders as from_folders
from fedabm.data.partitions.base import Partition as Partition
from fedabm.data.partitions.dirichlet import Clusters as Clusters
from fedabm.data.partitions.dirichlet import Dirichlet as Dirichlet
from fedabm.data.partitions.flower import FromFlower as FromFlower
from fedabm.data.partitions.rotated import Rotated as Rotated
from fedabm.data.partitions.rotated import rotate as rotate
from fedabm.data.partitions.sizes import IID as IID
from fedabm.data.partitions.sizes import Natural as Natural
from fedabm.data.partitions.sizes import SizeSkew as SizeSkew
from fedabm.data.partitions.skew import ClassSkew as ClassSkew
from fedabm.data.partitions.skew import LabelMix as LabelMix
from fedabm.data.partitions.skew import Shards as Shards
from fedabm.data.quality import (
    Chain as Chain,
)
from fedabm.data.quality import (
    Duplicates as Duplicates,
)
from fedabm.data.quality import (
    FeatureNoise as FeatureNoise,
)
from fedabm.data.quality import (
    LabelFlip as LabelFlip,
)
from fedabm.data.quality import (
    LabelNoise as LabelNoise,
)
from fedabm.data.quality import (
    LabelShift as LabelShift,
)
from fedabm.data.quality import (
    Quality as Quality,
)
from fedabm.data.torch_sets import from_torch as from_torch
