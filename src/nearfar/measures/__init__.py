"""What is computed from shortest paths."""
