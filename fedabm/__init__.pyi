from fedabm import (
    accuracy as accuracy,
)
from fedabm import (
    advice as advice,
)
from fedabm import (
    auditing as auditing,
)
from fedabm import (
    behaviour as behaviour,
)
from fedabm import (
    bridges as bridges,
)
from fedabm import (
    checks as checks,
)
from fedabm import (
    costs as costs,
)
from fedabm import (
    data as data,
)
from fedabm import (
    environment as environment,
)
from fedabm import (
    figures as figures,
)
from fedabm import (
    games as games,
)
from fedabm import (
    knowledge as knowledge,
)
from fedabm import (
    learning as learning,
)
from fedabm import (
    live as live,
)
from fedabm import (
    market as market,
)
from fedabm import (
    mechanisms as mechanisms,
)
from fedabm import (
    papers as papers,
)
from fedabm import (
    report as report,
)
from fedabm import (
    results as results,
)
from fedabm import (
    shapley as shapley,
)
from fedabm import (
    simulation as simulation,
)
from fedabm import (
    solving as solving,
)
from fedabm import (
    strategies as strategies,
)
from fedabm import (
    study as study,
)
from fedabm import (
    sweep as sweep,
)
from fedabm import (
    testing as testing,
)
from fedabm import (
    tournament as tournament,
)
from fedabm import (
    views as views,
)
from fedabm.auditing.card import Card as Card
from fedabm.auditing.card import Thoroughness as Thoroughness
from fedabm.auditing.card import audit as audit
from fedabm.calibration.calibration import Calibration as Calibration
from fedabm.calibration.calibration import calibrate as calibrate
from fedabm.calibration.costs import calibrate_costs as calibrate_costs
from fedabm.cli import run_script as run_script
from fedabm.common.errors import BusyError as BusyError
from fedabm.common.errors import FedabmError as FedabmError
from fedabm.common.errors import InputError as InputError
from fedabm.common.errors import MissingExtraError as MissingExtraError
from fedabm.common.errors import UnreadableError as UnreadableError
from fedabm.common.errors import UserCodeError as UserCodeError
from fedabm.comparison.comparison import Comparison as Comparison
from fedabm.comparison.comparison import compare as compare
from fedabm.factors.indices import SensitivityIndices as SensitivityIndices
from fedabm.factors.sensitivity import sensitivity as sensitivity
from fedabm.results.frames import Frames as Frames
from fedabm.results.store import load as load
from fedabm.results.store import save as save
from fedabm.settlement.statement import Statement as Statement
from fedabm.settlement.statement import settle as settle
from fedabm.simulation.model import Federation as Federation
from fedabm.simulation.owners import OwnerProfile as OwnerProfile
from fedabm.simulation.owners import population as population
from fedabm.simulation.scenario import Scenario as Scenario
from fedabm.solving.equilibrium import solve as solve
from fedabm.solving.game import Game as Game
from fedabm.solving.many import solve_many as solve_many
from fedabm.solving.several import Equilibria as Equilibria
from fedabm.solving.several import solve_all as solve_all
from fedabm.solving.verdict import Equilibrium as Equilibrium

__version__: str
