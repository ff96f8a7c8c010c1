"""Short scripts, one per question; run one with `fedabm run NAME` or by itself."""
