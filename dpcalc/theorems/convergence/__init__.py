"""Convergence and utility results: calculators without privacy content."""
