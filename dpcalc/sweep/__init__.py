"""Grids of settings: one question asked of many, and a tidy table of the answers."""
