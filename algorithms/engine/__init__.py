"""What algorithms have in common: running, stepping, recording, densities, data accesses."""
