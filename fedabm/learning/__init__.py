"""Real training under the game: data, partitions, networks and the engine that trains all owners at once."""
