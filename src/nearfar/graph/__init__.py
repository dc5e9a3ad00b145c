"""The graph: compressed sparse rows, built and validated once, and what is derived from them."""
