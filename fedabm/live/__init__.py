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

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, extra="live")
