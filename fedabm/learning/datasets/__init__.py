"""Data for the owners: embedded sets, the papers' full sets from their canonical files, and the hub.

Files are looked for in one folder: the environment variable FEDABM_DATA, or `fedabm` in the user's cache.
"""

from fedabm.learning.datasets.base import Dataset
from fedabm.learning.datasets.files import data_folder
from fedabm.learning.datasets.hub import from_flower, from_hub, from_table
from fedabm.learning.datasets.registry import Row, download, load, names, status

__all__ = [
    "Dataset",
    "Row",
    "data_folder",
    "download",
    "from_flower",
    "from_hub",
    "from_table",
    "load",
    "names",
    "status",
]
