"""What comes back: paths, their proof, and the map of an answer."""
