"""Sinks of computed rows: store them, restore a search's sums, or reduce them."""
