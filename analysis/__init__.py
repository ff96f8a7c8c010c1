"""Figures and notebooks; they read frames only.

`figures` offers all figures that take frames; the other modules hold them by what they show (`over_time`, `outcomes`,
`distributions`, `networks`, ...) in the looks of `looks`.  `notebooks` executes the notebooks that lie here.
"""
