"""Which inputs drive an answer."""
