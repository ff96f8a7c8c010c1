"""Every example, theorem, table and figure of the papers as one row: what is claimed and what we get.

The folders of the papers state the rows; `rows` holds what a row is and how its verdict is decided, `runner` finds and
runs them, `render` prints them, `training` says what may follow from a quick run, `trials` draws random instances,
`records` and `recording` read and make what was run at a size that decides.  No verdict is written down: each is
computed from our numbers.
"""

from fedabm.papers.ledger.rows import Budget, Finding, Result, Row
from fedabm.papers.ledger.runner import ledger, reproduce

__all__ = ["Budget", "Finding", "Result", "Row", "ledger", "reproduce"]
