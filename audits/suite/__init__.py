"""Finds the audits and runs them."""
