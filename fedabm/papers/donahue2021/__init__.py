"""Donahue and Kleinberg 2021, "Model-sharing games": who federates with whom when data are unlike."""
