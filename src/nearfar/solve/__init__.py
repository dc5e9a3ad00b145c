"""A request's way: check, choose, run, widen, mask, finish; for one source and for many."""
