"""Private dual averaging: Liu, Johansson and Shi 2022."""
