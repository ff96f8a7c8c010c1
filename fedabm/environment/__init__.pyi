from fedabm.environment.federation import FederationEnv as FederationEnv
from fedabm.environment.single import OwnerEnv as OwnerEnv
