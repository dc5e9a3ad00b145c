"""Division of the elimination tree among thread blocks: cells, upper pieces, tiles of rows."""
