"""Pairs of Gaussian laws."""
