"""What an answer depends on: inputs that are varied all at once, and indices of how much each of them matters.

- `inputs`       from "rate=0.001:0.1:log, mechanism=a|b" to factors; where a scenario, function or study takes them
- `design`       points of a method as cells of a sweep, each with a seed of its own
- `methods`      Sobol, Morris and PAWN: their points and their indices (SALib)
- `outcomes`     what is explained: a number for every run, of its end or of its long run
- `curves`       means and bands along one input
- `indices`      `SensitivityIndices`: tables, figures and what to say of them
- `sensitivity`  `sensitivity(...)`: all of it
"""
