"""Is the noise drawn as promised? Density-based bounds are used only if this test passes."""
