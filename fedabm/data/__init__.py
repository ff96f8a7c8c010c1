"""Real data: data sets, how they are dealt to owners, and what can be wrong with them.  Nothing here needs torch."""
