"""All shortest paths from a source, as a graph, as numbers and one by one."""
