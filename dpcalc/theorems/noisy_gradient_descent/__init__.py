"""Noisy gradient descent of which only the last iterate is released."""
