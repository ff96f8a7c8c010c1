"""Doshi et al. 2025: contributions and weights learned together (UPBReD, 2P-UPBReD)."""
