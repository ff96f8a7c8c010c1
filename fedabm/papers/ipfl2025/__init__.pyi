from fedabm.papers.ipfl2025.language import (
    LanguageSetting as LanguageSetting,
)
from fedabm.papers.ipfl2025.language import (
    Sets as Sets,
)
from fedabm.papers.ipfl2025.language import (
    language_rules as language_rules,
)
from fedabm.papers.ipfl2025.language import (
    language_setting as language_setting,
)
from fedabm.papers.ipfl2025.language import (
    with_base as with_base,
)
from fedabm.papers.ipfl2025.language import (
    with_owners as with_owners,
)
from fedabm.papers.ipfl2025.settings import (
    Data as Data,
)
from fedabm.papers.ipfl2025.settings import (
    MarketSetting as MarketSetting,
)
from fedabm.papers.ipfl2025.settings import (
    Split as Split,
)
from fedabm.papers.ipfl2025.settings import (
    at_home as at_home,
)
from fedabm.papers.ipfl2025.settings import (
    honest_owners as honest_owners,
)
from fedabm.papers.ipfl2025.settings import (
    market_rules as market_rules,
)
from fedabm.papers.ipfl2025.settings import (
    market_setting as market_setting,
)
