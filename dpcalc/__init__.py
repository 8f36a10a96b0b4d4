"""Privacy accounting for private ADMM and dual averaging; see the README."""

__version__ = "0.1.0"
