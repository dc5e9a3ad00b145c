"""Places in queries: coordinates in; tables, nearest places and routes in their labels out."""
