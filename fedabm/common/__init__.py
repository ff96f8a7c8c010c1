"""What every room uses: errors with a remedy, random streams, hashable tables, names in text files."""
