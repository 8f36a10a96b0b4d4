"""Integrals of the moment function along a vertical line."""
