"""Is the noise that was drawn the noise that was promised? Bounds from densities wait for a yes."""
