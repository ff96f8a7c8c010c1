from fedabm.bridges.byzfl import Colluder as Colluder
from fedabm.bridges.flower import Client as Client
from fedabm.bridges.flower import PaymentServer as PaymentServer
from fedabm.bridges.games import (
    payoff_table as payoff_table,
)
from fedabm.bridges.games import (
    to_nashpy as to_nashpy,
)
from fedabm.bridges.games import (
    to_nfg as to_nfg,
)
from fedabm.bridges.games import (
    write_nfg as write_nfg,
)
from fedabm.bridges.recorder import ReplyRecorder as ReplyRecorder
