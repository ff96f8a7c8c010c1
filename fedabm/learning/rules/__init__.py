"""How a shared model is learned from what owners send: one file per rule."""
