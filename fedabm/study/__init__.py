"""What a scenario script works with: it runs models, keeps results, and goes on after an interruption."""
