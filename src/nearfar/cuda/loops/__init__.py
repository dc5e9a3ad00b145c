"""Loops of a solve on the device: step by step from the host, or in one cooperative launch."""
