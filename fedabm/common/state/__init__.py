"""What changes in a run, declared part by part: by it a run is saved, checked and restored.

A class that is `Stateful` names in `_changing` what a checkpoint holds of it, each with its `Kind`, and in `_remade`
what is made anew.  Whatever else an object holds cannot be saved, so that no new attribute is forgotten in silence.

kinds      numbers, texts, arrays, and containers of them
records    frozen values, field by field
stateful   objects that change
"""

from fedabm.common.state.kinds import (
    ANY,
    BYTES,
    FLAG,
    GENERATOR,
    NUMBER,
    TEXT,
    WHOLE,
    Dict,
    Each,
    Kind,
    Many,
    Maybe,
    Numbers,
    Set,
    Thing,
    Tuple,
)
from fedabm.common.state.records import Fields, FrozenRecord, Same, Varied
from fedabm.common.state.stateful import Stateful, StatePart

__all__ = ["ANY", "BYTES", "FLAG", "GENERATOR", "NUMBER", "TEXT", "WHOLE", "Each", "Fields", "Kind", "Many", "Maybe"]
__all__ += ["Dict", "FrozenRecord", "Numbers", "Same", "Set", "StatePart", "Stateful", "Thing", "Tuple", "Varied"]
