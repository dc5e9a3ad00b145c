"""Places in queries: coordinates in, tables, nearest places and routes in the caller's labels out."""
