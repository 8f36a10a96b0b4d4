"""The summed loss on nested lattices."""
