"""Amplification by iteration for gradient ADMM: Chan, Xie and Zhao 2023."""
