"""Results of runs: the tidy frames, what their columns mean, and how they are kept on disk."""
