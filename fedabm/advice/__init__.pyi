from fedabm.advice.consortium import Consortium as Consortium
from fedabm.advice.recommendation import Candidate as Candidate
from fedabm.advice.recommendation import Recommendation as Recommendation
from fedabm.advice.recommendation import recommend as recommend
from fedabm.comparison.wanted import Wanted as Wanted
