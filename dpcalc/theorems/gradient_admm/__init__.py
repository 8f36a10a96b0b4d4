"""Gradient-perturbed ADMM: Shang et al. 2021."""
