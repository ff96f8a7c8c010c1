"""Every example, theorem, table and figure of the five papers as one row: what is claimed and what we get.

One module per paper states its rows; `rows` holds what a row is and how its verdict is decided, `runner` runs them,
`render` prints them, `command` is `fedabm reproduce`.  Rows that need training are in `markets` and `learned`, and
`training` says what may follow from a quick run.  No verdict is written down: each is computed from our numbers.
"""

from fedabm.papers.ledger.rows import Budget, Finding, Result, Row
from fedabm.papers.ledger.runner import ledger, reproduce

__all__ = ["Budget", "Finding", "Result", "Row", "ledger", "reproduce"]
