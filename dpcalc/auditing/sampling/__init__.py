"""Runs of a target in batches, and what is observed of them."""
