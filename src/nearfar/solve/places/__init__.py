"""Queries between places given by coordinates: tables, nearest places and routes."""
