from fedabm.analysis.bars import owner_bars as owner_bars
from fedabm.analysis.boxes import lying_box as lying_box
from fedabm.analysis.breaking import breaking_box as breaking_box
from fedabm.analysis.curves import (
    COLOURS as COLOURS,
)
from fedabm.analysis.curves import (
    LINES as LINES,
)
from fedabm.analysis.curves import (
    dress as dress,
)
from fedabm.analysis.curves import (
    focus as focus,
)
from fedabm.analysis.curves import (
    mark as mark,
)
from fedabm.analysis.curves import (
    offer_curves as offer_curves,
)
from fedabm.analysis.curves import (
    panels as panels,
)
from fedabm.analysis.curves import (
    powers as powers,
)
from fedabm.analysis.curves import (
    seeds_of as seeds_of,
)
from fedabm.analysis.curves import (
    shared_legend as shared_legend,
)
from fedabm.analysis.curves import (
    thousands as thousands,
)
from fedabm.analysis.cycles import best_response_cycle as best_response_cycle
from fedabm.analysis.distributions import (
    accuracy_utility as accuracy_utility,
)
from fedabm.analysis.distributions import (
    utility_distribution as utility_distribution,
)
from fedabm.analysis.figures import of_runs as of_runs
from fedabm.analysis.figures import side_by_side as side_by_side
from fedabm.analysis.heat import (
    gain_table as gain_table,
)
from fedabm.analysis.heat import (
    heat_map as heat_map,
)
from fedabm.analysis.heat import (
    heat_maps as heat_maps,
)
from fedabm.analysis.heat import (
    heat_table as heat_table,
)
from fedabm.analysis.looks import (
    Look as Look,
)
from fedabm.analysis.looks import (
    mechanism_looks as mechanism_looks,
)
from fedabm.analysis.looks import (
    new_panel as new_panel,
)
from fedabm.analysis.looks import (
    protocol_looks as protocol_looks,
)
from fedabm.analysis.looks import (
    strategy_colours as strategy_colours,
)
from fedabm.analysis.looks import (
    strategy_looks as strategy_looks,
)
from fedabm.analysis.looks import (
    styled as styled,
)
from fedabm.analysis.market import (
    lie_lines as lie_lines,
)
from fedabm.analysis.market import (
    money_picture as money_picture,
)
from fedabm.analysis.market import (
    role_colours as role_colours,
)
from fedabm.analysis.market import (
    role_markers as role_markers,
)
from fedabm.analysis.market_runs import (
    accuracy_against_utility as accuracy_against_utility,
)
from fedabm.analysis.market_runs import (
    banded as banded,
)
from fedabm.analysis.market_runs import (
    by_label as by_label,
)
from fedabm.analysis.market_runs import (
    comparison_picture as comparison_picture,
)
from fedabm.analysis.market_runs import (
    counted as counted,
)
from fedabm.analysis.market_runs import (
    half_width as half_width,
)
from fedabm.analysis.market_runs import (
    moved as moved,
)
from fedabm.analysis.market_runs import (
    owner_sums as owner_sums,
)
from fedabm.analysis.market_runs import (
    run_summary as run_summary,
)
from fedabm.analysis.market_runs import (
    spread_words as spread_words,
)
from fedabm.analysis.market_runs import (
    utility_picture as utility_picture,
)
from fedabm.analysis.market_runs import (
    utility_spread as utility_spread,
)
from fedabm.analysis.networks import (
    collaboration_graph as collaboration_graph,
)
from fedabm.analysis.networks import (
    money_by_strategy as money_by_strategy,
)
from fedabm.analysis.networks import (
    money_graph as money_graph,
)
from fedabm.analysis.outcomes import (
    against_contribution as against_contribution,
)
from fedabm.analysis.outcomes import (
    mechanism_bars as mechanism_bars,
)
from fedabm.analysis.outcomes import (
    welfare_against as welfare_against,
)
from fedabm.analysis.over_time import contributions_over_time as contributions_over_time
from fedabm.analysis.over_time import convergence as convergence
from fedabm.analysis.rows import last_step as last_step
from fedabm.analysis.sensitivity import (
    effect_curves as effect_curves,
)
from fedabm.analysis.sensitivity import (
    index_bars as index_bars,
)
from fedabm.analysis.sensitivity import (
    index_scatter as index_scatter,
)
from fedabm.analysis.shaping import offer_frame as offer_frame
from fedabm.analysis.shaping import value_shaping as value_shaping
from fedabm.analysis.simplex import simplex_flow as simplex_flow
from fedabm.common.confidence import confidence as confidence
