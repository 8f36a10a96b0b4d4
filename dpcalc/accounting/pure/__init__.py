"""Compositions of pure mechanisms."""
