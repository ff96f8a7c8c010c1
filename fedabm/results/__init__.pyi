from fedabm.results.columns import COLUMNS as COLUMNS
from fedabm.results.entries import Column as Column
from fedabm.results.fairness import accuracy_alone as accuracy_alone
from fedabm.results.fairness import fairness_columns as fairness_columns
from fedabm.results.graphs import (
    import_graph as import_graph,
)
from fedabm.results.graphs import (
    payment_graph as payment_graph,
)
from fedabm.results.graphs import (
    write_graphml as write_graphml,
)
