"""The file of a prepared graph: written, mapped, checked."""
