"""From text to typed objects: games, studies and values in TOML or on the command line."""
