"""What becomes of computed rows: stored, restored to a search's sums, or reduced."""
