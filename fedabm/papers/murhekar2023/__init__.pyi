from fedabm.papers.murhekar2023.protocols import fed_br as fed_br
from fedabm.papers.murhekar2023.protocols import fed_br_bg as fed_br_bg
from fedabm.papers.murhekar2023.rings import ring as ring
