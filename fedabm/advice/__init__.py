"""Which rule a consortium should adopt, with which parameters, and how sure that is.

- `consortium`      owners and curve with draws of what is not known, from a study or from Python
- `families`        the kinds of rules that fit what may be asked, verified, paid and degraded
- `judging`         a rule in the certified equilibria of all draws at once
- `conditions`      what every answer must keep to: "rational", "budget <= 100", "best_lie <= 1%"
- `lies`            the best lie of one owner and of a pair, in rows of one table
- `recommendation`  `recommend`: parameters tuned, candidates raced, the answer as a sentence with evidence
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
