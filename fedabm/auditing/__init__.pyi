from fedabm.auditing.answers import after_answers as after_answers
from fedabm.auditing.answers import after_learning as after_learning
from fedabm.auditing.deviations import LieLimits as LieLimits
from fedabm.auditing.search import BestDeviation as BestDeviation
from fedabm.auditing.search import SearchEffort as SearchEffort
from fedabm.auditing.search import best_lie as best_lie
from fedabm.auditing.search import best_lies as best_lies
from fedabm.auditing.stage import Stage as Stage
