"""Lists of edges: text, and tables through pyarrow."""
