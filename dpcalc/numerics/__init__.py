"""Arithmetic whose rounding direction is known: the ground every bound stands on."""
