"""Numerical privacy accounting: exact laws, optimal composition, two-sided numerical composition."""
