from fedabm.results.keep import Recording as Recording
from fedabm.simulation.activation import (
    Activation as Activation,
)
from fedabm.simulation.activation import (
    RandomSubset as RandomSubset,
)
from fedabm.simulation.activation import (
    Sequential as Sequential,
)
from fedabm.simulation.activation import (
    Simultaneous as Simultaneous,
)
from fedabm.simulation.agents import Owner as Owner
from fedabm.simulation.agents import Server as Server
from fedabm.simulation.network import Sight as Sight
from fedabm.simulation.participation import (
    Deadline as Deadline,
)
from fedabm.simulation.participation import (
    Everyone as Everyone,
)
from fedabm.simulation.participation import (
    Participation as Participation,
)
from fedabm.simulation.participation import (
    SampleCount as SampleCount,
)
from fedabm.simulation.participation import (
    SampleShare as SampleShare,
)
from fedabm.simulation.participation import (
    Trace as Trace,
)
from fedabm.simulation.stopping import (
    AtRest as AtRest,
)
from fedabm.simulation.stopping import (
    Never as Never,
)
from fedabm.simulation.stopping import (
    Progress as Progress,
)
from fedabm.simulation.stopping import (
    Steady as Steady,
)
from fedabm.simulation.stopping import (
    Stopping as Stopping,
)
from fedabm.simulation.trackers import (
    MLflow as MLflow,
)
from fedabm.simulation.trackers import (
    TensorBoard as TensorBoard,
)
from fedabm.simulation.trackers import (
    WeightsAndBiases as WeightsAndBiases,
)
from fedabm.simulation.watching import RunBegun as RunBegun
from fedabm.simulation.watching import Watcher as Watcher
from fedabm.simulation.writers import CsvWriter as CsvWriter
from fedabm.simulation.writers import JsonLinesWriter as JsonLinesWriter
