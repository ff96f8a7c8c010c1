from fedabm.behaviour.fitted import BehaviourFit as BehaviourFit
from fedabm.behaviour.fitted import fit_behaviour as fit_behaviour
from fedabm.behaviour.observed import contributions_of as contributions_of
from fedabm.behaviour.simulated import SimulatedBehaviour as SimulatedBehaviour
from fedabm.behaviour.simulated import simulate_behaviour as simulate_behaviour
