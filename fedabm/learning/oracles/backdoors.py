"""How often a backdoor works."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.data.backdoor import Backdoor
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull

__all__ = ["attack_success"]


def attack_success(engine: Engine, model: Tensor, backdoor: Backdoor) -> float:
    """The share of test samples of other classes that a model (P,) takes for the target once they bear the trigger.

    Parameters
    ----------
    engine
        Whose test parts are stamped.
    model
        What has been learned, such as `Learning.weights(state)`.
    backdoor
        Trigger and target.

    Returns
    -------
    float
        Between 0 and 1; a model that was not attacked has what it takes for the target by mistake.
    """
    samples, _ = engine.part("test")
    others = torch.nonzero(samples.y != backdoor.target)[:, 0]
    if samples.y.is_floating_point() or not len(others):
        raise InputError("a backdoor is judged on samples of other classes than its target; these data have none")
    some = samples.part(others)
    stamped = torch.from_numpy(backdoor.stamped(pull(some.x), pull(samples.x).max())).to(some.x.device)
    triggered = replace(some, x=stamped, y=torch.full_like(some.y, backdoor.target))
    offsets = torch.from_numpy(np.array([0, len(others)])).to(some.x.device)
    return float(engine.score(engine.rows(model).unsqueeze(0), triggered, offsets).accuracy[0, 0])
