"""Arithmetic whose rounding direction is known: every bound rests on it."""
