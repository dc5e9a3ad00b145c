"""The auto engine: ranks the variants by the cost that each of them states."""
