"""Layouts of graphs on the device: sorted rows, row heads, generated rows."""
