"""ADMM as a noisy fixed-point iteration of proximal maps."""
