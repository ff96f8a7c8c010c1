"""Objects as JSON and raw numbers.  Unlike a pickle, what is read back runs no code of the writer's choice.

Objects become nodes of a list, so that what is one object stays one; the numbers of arrays lie behind the list.  What
comes back is data: containers, arrays, random generators, and objects that are filled in without being called (their
`__setstate__` aside), of classes from this package or from modules among what is `Given`.  Functions, paths and all
else must be given, and come back from there.

given        what reader and writer both have
classes      which classes are trusted, and values of other packages
writing      from objects to bytes
reading      and back
fingerprint  whether two processes are given the same
"""

from fedabm.common.archive.classes import Unsaveable, foreign
from fedabm.common.archive.fingerprint import fingerprint
from fedabm.common.archive.given import Given
from fedabm.common.archive.reading import unpack
from fedabm.common.archive.writing import pack

__all__ = ["Given", "Unsaveable", "fingerprint", "foreign", "pack", "unpack"]
