from fedabm.papers.doshi2025.data import Data as Data
from fedabm.papers.doshi2025.data import owners_of as owners_of
from fedabm.papers.doshi2025.data import setting as setting
from fedabm.papers.doshi2025.order import compared as compared
from fedabm.papers.doshi2025.order import welfare_by_seed as welfare_by_seed
from fedabm.papers.doshi2025.order import without_costs as without_costs
from fedabm.papers.doshi2025.protocols import (
    fed_avg_strategic as fed_avg_strategic,
)
from fedabm.papers.doshi2025.protocols import (
    two_phase_upbred as two_phase_upbred,
)
from fedabm.papers.doshi2025.protocols import (
    upbred as upbred,
)
from fedabm.papers.doshi2025.settings import Doshi as Doshi
from fedabm.papers.doshi2025.settings import last_rows as last_rows
