"""The ODD protocol of a model, from what its scenarios are: `fedabm describe SCENARIO --odd`.

Overview, design concepts, details: the description that reviewers of agent-based models ask for (Grimm et al. 2020,
The ODD protocol for describing agent-based and other simulation models, JASSS 23(2) 7).  `protocol` puts its seven
elements together, `text` writes them as Markdown or LaTeX, `parts` tells what a scenario consists of.
"""
