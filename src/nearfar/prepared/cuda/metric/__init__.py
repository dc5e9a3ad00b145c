"""What the arcs weigh, on a CUDA device."""
