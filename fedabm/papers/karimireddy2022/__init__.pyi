from fedabm.papers.karimireddy2022.menus import one_owner as one_owner
from fedabm.papers.karimireddy2022.menus import over_chances as over_chances
from fedabm.papers.karimireddy2022.proportional import (
    Deviations as Deviations,
)
from fedabm.papers.karimireddy2022.proportional import (
    Market as Market,
)
from fedabm.papers.karimireddy2022.proportional import (
    Outside as Outside,
)
from fedabm.papers.karimireddy2022.proportional import (
    largest_symmetric as largest_symmetric,
)
from fedabm.papers.karimireddy2022.shaping import (
    PowerFit as PowerFit,
)
from fedabm.papers.karimireddy2022.shaping import (
    fit_losses as fit_losses,
)
from fedabm.papers.karimireddy2022.shaping import (
    largest_complexity as largest_complexity,
)
from fedabm.papers.karimireddy2022.shaping import (
    optima_alone as optima_alone,
)
from fedabm.papers.karimireddy2022.shaping import (
    shaped_total as shaped_total,
)
from fedabm.papers.karimireddy2022.shaping import (
    value_of_tokens as value_of_tokens,
)
