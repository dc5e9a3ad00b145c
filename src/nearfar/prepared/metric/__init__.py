"""What the arcs weigh: customization on the host, pruning, and changed weights."""
