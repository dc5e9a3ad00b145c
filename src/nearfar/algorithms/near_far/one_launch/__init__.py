"""Near-Far with the whole solve in one launch; ``driver`` is its host side."""
