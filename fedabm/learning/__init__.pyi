from fedabm.common.cluster import Cluster as Cluster
from fedabm.learning.columns import detection_columns as detection_columns
from fedabm.learning.columns import success_column as success_column
from fedabm.learning.engine.adapt import adapt as adapt
from fedabm.learning.engine.augment import CropAndFlip as CropAndFlip
from fedabm.learning.engine.engine import Engine as Engine
from fedabm.learning.engine.exported import load_model as load_model
from fedabm.learning.engine.exported import save_model as save_model
from fedabm.learning.engine.networks import NETWORKS as NETWORKS
from fedabm.learning.engine.optimisers import SGD as SGD
from fedabm.learning.engine.optimisers import Adam as Adam
from fedabm.learning.engine.optimisers import AdamW as AdamW
from fedabm.learning.engine.optimisers import CosineSchedule as CosineSchedule
from fedabm.learning.engine.optimisers import Optimiser as Optimiser
from fedabm.learning.engine.optimisers import RateSchedule as RateSchedule
from fedabm.learning.engine.optimisers import StepSchedule as StepSchedule
from fedabm.learning.engine.training import Proximal as Proximal
from fedabm.learning.knowledge.com_fed_sv import ComFedSV as ComFedSV
from fedabm.learning.knowledge.fed_sv import FedSV as FedSV
from fedabm.learning.knowledge.from_updates import FromUpdates as FromUpdates
from fedabm.learning.knowledge.gtg_shapley import GTGShapley as GTGShapley
from fedabm.learning.knowledge.measured import Measured as Measured
from fedabm.learning.knowledge.update_norms import UpdateNorms as UpdateNorms
from fedabm.learning.language.trials import pass_rate as pass_rate
from fedabm.learning.language.writing import answers_to as answers_to
from fedabm.learning.language.yardsticks import majority as majority
from fedabm.learning.oracles.backdoors import attack_success as attack_success
from fedabm.learning.oracles.coalition import Coalition as Coalition
from fedabm.learning.oracles.curve import MeasuredCurve as MeasuredCurve
from fedabm.learning.oracles.fitted import (
    Fit as Fit,
)
from fedabm.learning.oracles.fitted import (
    Points as Points,
)
from fedabm.learning.oracles.fitted import (
    corners as corners,
)
from fedabm.learning.oracles.fitted import (
    fit_groups as fit_groups,
)
from fedabm.learning.oracles.fitted import (
    measure_corners as measure_corners,
)
from fedabm.learning.oracles.fitted import (
    measure_groups as measure_groups,
)
from fedabm.learning.oracles.learning import Learning as Learning
from fedabm.learning.oracles.memory import AnswerCache as AnswerCache
from fedabm.learning.oracles.rounds import Rounds as Rounds
from fedabm.learning.oracles.scores import Measure as Measure
from fedabm.learning.oracles.trained import Trained as Trained
from fedabm.learning.personal.models import Personal as Personal
from fedabm.learning.rules.base import LocalTerms as LocalTerms
from fedabm.learning.rules.base import Received as Received
from fedabm.learning.rules.base import Robust as Robust
from fedabm.learning.rules.base import Rule as Rule
from fedabm.learning.rules.base import Step as Step
from fedabm.learning.rules.coordinate_median import CoordinateMedian as CoordinateMedian
from fedabm.learning.rules.detectors import caught as caught
from fedabm.learning.rules.fed_adagrad import FedAdagrad as FedAdagrad
from fedabm.learning.rules.fed_adam import FedAdam as FedAdam
from fedabm.learning.rules.fed_avg import FedAvg as FedAvg
from fedabm.learning.rules.fed_nova import FedNova as FedNova
from fedabm.learning.rules.fed_prox import FedProx as FedProx
from fedabm.learning.rules.fed_yogi import FedYogi as FedYogi
from fedabm.learning.rules.fl_trust import FLTrust as FLTrust
from fedabm.learning.rules.fools_gold import FoolsGold as FoolsGold
from fedabm.learning.rules.geometric_median import GeometricMedian as GeometricMedian
from fedabm.learning.rules.krum import Krum as Krum
from fedabm.learning.rules.no_duplicates import NoDuplicates as NoDuplicates
from fedabm.learning.rules.norm_bound import NormBound as NormBound
from fedabm.learning.rules.recipe import Recipe as Recipe
from fedabm.learning.rules.scaffold import Scaffold as Scaffold
from fedabm.learning.rules.trimmed_mean import TrimmedMean as TrimmedMean
from fedabm.learning.rules.watched import Watched as Watched
