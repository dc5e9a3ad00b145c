"""Graphs on the device: upload, checks, and the orders of their rows."""
