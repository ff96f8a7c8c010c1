"""fedabm: an agent-based laboratory for strategic behaviour in federated learning."""
