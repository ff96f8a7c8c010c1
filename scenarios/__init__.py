"""Short scripts, one per question; run one with `fedabm run NAME` or by itself.

A script is a docstring whose first line is the question, and a function `run(study, ...)` whose keyword arguments are
its parameters.  Nothing imports a script: what two of them share belongs into a room of the library.
"""
