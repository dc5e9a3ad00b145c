"""Queries between places that are given by coordinates: tables, nearest places and routes."""
