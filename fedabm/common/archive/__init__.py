"""Objects as JSON and raw numbers.  Unlike a pickle, what is read back runs no code of the writer's choice.

Objects become nodes of a list, so that what is one object stays one; the numbers of arrays lie behind the list.  What
comes back is data: containers, arrays, random generators, and objects that are filled in without being called, of a
closed list of classes (`kept`) and of the user's own classes of which an object is `Given`.  Functions, paths and all
else must be given, and come back from there; methods are neither written nor read.

given        what reader and writer both have
kept         the closed list of classes
classes      how classes are found, and values of other packages
filling      which attributes an object may be given
writing      from objects to bytes
reading      and back
"""

from fedabm.common.archive.classes import Unsaveable, foreign, is_foreign
from fedabm.common.archive.filling import check_attributes
from fedabm.common.archive.given import Given, name_of
from fedabm.common.archive.reading import check_bits, unpack
from fedabm.common.archive.writing import pack

__all__ = [
    "Given",
    "Unsaveable",
    "check_attributes",
    "check_bits",
    "foreign",
    "is_foreign",
    "name_of",
    "pack",
    "unpack",
]
