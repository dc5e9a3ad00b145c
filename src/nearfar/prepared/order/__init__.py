"""The order in which vertices are eliminated, the elimination tree that follows, and its arcs."""
