"""Formats of road networks and maps: DIMACS, OpenStreetMap, TNTP and MovingAI."""
