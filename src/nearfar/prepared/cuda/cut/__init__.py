"""Division of the elimination tree for thread blocks: cells, upper pieces, tiles of rows."""
