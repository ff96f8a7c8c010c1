"""Real data, without torch.

datasets/      the sets: embedded ones, the papers' from their canonical files, the hub
partitions/    who has which samples
federated      everybody's training and test parts
own            arrays, CSV files and folders of images of one's own
quality        what can be wrong with one owner's samples
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
