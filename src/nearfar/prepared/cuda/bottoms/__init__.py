"""What is below the front of a query: cells, leaves, or a product with the targets of a table."""
