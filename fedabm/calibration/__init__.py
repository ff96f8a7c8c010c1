"""From measurements to the parts of a game: an accuracy with draws from a pilot, a cost with an interval from invoices.

fitting      bounded least squares, the one place where curves are fitted
families     accuracies of the total of all data that a pilot can be fitted by
pilot        points of a pilot, from a file, a data frame, arrays or a measured curve
band         parametric bootstrap: draws of parameters, and bands around the curve
judging      families by held-out error, and what speaks against the best
calibration  all of it in one call
costs        invoices per batch
picture      points, fit and band
"""
