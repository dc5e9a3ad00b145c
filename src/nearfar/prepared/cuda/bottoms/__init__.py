"""Lower part of a query: cells, leaves, or a product with the targets of a table."""
