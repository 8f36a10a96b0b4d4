"""What is attacked: a function that releases, an algorithm, a Gaussian law."""
