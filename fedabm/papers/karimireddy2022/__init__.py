"""Karimireddy et al. 2022: free-riding, value shaping, proportional rules and screening."""
