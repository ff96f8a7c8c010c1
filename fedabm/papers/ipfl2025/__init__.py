"""iPFL 2025: a market for personalised models."""
