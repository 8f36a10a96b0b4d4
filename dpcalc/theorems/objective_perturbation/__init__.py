"""Objective perturbation on a network: Zhang, Khalili and Liu 2018 and 2019."""
