"""Data for the owners: embedded sets, the papers' full sets from their canonical files, and the hub.

Files are looked for in one folder: the environment variable FEDABM_DATA, or `fedabm` in the user's cache.
"""

from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.files import data_folder
from fedabm.data.datasets.hub import from_flower, from_hub, from_table
from fedabm.data.datasets.registry import DatasetRow, download, load_dataset, names, status, where_to_get

__all__ = [
    "Dataset",
    "DatasetRow",
    "data_folder",
    "download",
    "from_flower",
    "from_hub",
    "from_table",
    "load_dataset",
    "names",
    "status",
    "where_to_get",
]
