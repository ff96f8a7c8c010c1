from fedabm.papers import (
    doshi2025 as doshi2025,
)
from fedabm.papers import (
    ipfl2025 as ipfl2025,
)
from fedabm.papers import (
    karimireddy2022 as karimireddy2022,
)
from fedabm.papers import (
    murhekar2023 as murhekar2023,
)
from fedabm.papers import (
    murhekar2025 as murhekar2025,
)
from fedabm.papers.presets import (
    Preset as Preset,
)
from fedabm.papers.presets import (
    Size as Size,
)
from fedabm.papers.presets import (
    Sizes as Sizes,
)
from fedabm.papers.presets import (
    choose as choose,
)
from fedabm.papers.presets import (
    engine_for as engine_for,
)
from fedabm.papers.presets import (
    spread as spread,
)
from fedabm.papers.protocols import Protocol as Protocol
from fedabm.papers.protocols import fed_avg as fed_avg
from fedabm.papers.protocols import mw_fed as mw_fed
