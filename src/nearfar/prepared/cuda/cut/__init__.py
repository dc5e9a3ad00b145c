"""The elimination tree, cut for thread blocks: cells, pieces of the upper part, tiles of rows."""
