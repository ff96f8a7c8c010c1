from fedabm.papers.murhekar2025.printed import (
    MEASURES as MEASURES,
)
from fedabm.papers.murhekar2025.printed import (
    PRINTED as PRINTED,
)
from fedabm.papers.murhekar2025.printed import (
    RULES as RULES,
)
from fedabm.papers.murhekar2025.printed import (
    Printed as Printed,
)
from fedabm.papers.murhekar2025.protocols import fed_br_shap as fed_br_shap
from fedabm.papers.murhekar2025.protocols import paper_budget as paper_budget
from fedabm.papers.murhekar2025.reciprocity import measured_reciprocity as measured_reciprocity
from fedabm.papers.murhekar2025.settings import (
    GROUP_PRESETS as GROUP_PRESETS,
)
from fedabm.papers.murhekar2025.settings import (
    TABLES as TABLES,
)
from fedabm.papers.murhekar2025.settings import (
    GroupsPreset as GroupsPreset,
)
from fedabm.papers.murhekar2025.settings import (
    Units as Units,
)
from fedabm.papers.murhekar2025.settings import (
    fit_in_batches as fit_in_batches,
)
