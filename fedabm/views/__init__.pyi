from fedabm.games.curves import Flags as Flags
from fedabm.views.exchange import (
    Exchange as Exchange,
)
from fedabm.views.exchange import (
    LocalTask as LocalTask,
)
from fedabm.views.exchange import (
    Models as Models,
)
from fedabm.views.exchange import (
    Sent as Sent,
)
from fedabm.views.exchange import (
    Since as Since,
)
from fedabm.views.exchanging import Exchanging as Exchanging
from fedabm.views.exchanging import deliver as deliver
from fedabm.views.exchanging import sent as sent
from fedabm.views.known import Known as Known
from fedabm.views.memory import Memory as Memory
from fedabm.views.neighbours import Neighbours as Neighbours
from fedabm.views.owners import (
    INFORMATION as INFORMATION,
)
from fedabm.views.owners import (
    Action as Action,
)
from fedabm.views.owners import (
    Experience as Experience,
)
from fedabm.views.owners import (
    OwnerView as OwnerView,
)
from fedabm.views.owners import (
    Payoff as Payoff,
)
from fedabm.views.reports import Reports as Reports
from fedabm.views.reports import TermsCache as TermsCache
from fedabm.views.server import (
    SERVER as SERVER,
)
from fedabm.views.server import (
    Evidence as Evidence,
)
from fedabm.views.server import (
    Outcome as Outcome,
)
from fedabm.views.server import (
    ServerView as ServerView,
)
from fedabm.views.server import (
    Transfers as Transfers,
)
from fedabm.views.traffic import NO_TRAFFIC as NO_TRAFFIC
from fedabm.views.traffic import Traffic as Traffic
from fedabm.views.traffic import traffic_of as traffic_of
