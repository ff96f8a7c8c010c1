"""A page to watch and steer runs: `fedabm live SCENARIO|study.toml`, needs the extra `live`.

- `source`     what is watched: a scenario script, a study or game in TOML, or a `Scenario`
- `setup`      what was chosen: mechanisms, mixture of strategies, costs, oracle, seed; as a link and as a file
- `moments`    what is kept of every step, and what every owner saw when it decided
- `events`     who left, joined, lied, was rejected, in words
- `session`    one or two runs on the same owners and seed: forward, back, save; no browser needed
- `charts`     lines over time as options of ECharts
- `graphs`     the money and collaboration graph of a step, likewise
- `following`  one owner: what it sees and what it does
- `page`       the page itself, `controls` what can be chosen on it; these two and `server` need NiceGUI
- `server`     `live(...)`: on this machine only, or with a token
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedabm.common.errors import InputError

if TYPE_CHECKING:
    from fedabm.live.server import live

__all__ = ["live"]


def __getattr__(name: str) -> Any:
    if name != "live":
        raise AttributeError(f"module 'fedabm.live' has no attribute {name!r}")
    try:
        return import_module("fedabm.live.server").live
    except ModuleNotFoundError as error:
        raise InputError(f"the live page needs {error.name}, which is not here; pip install 'fedabm[live]'") from error
