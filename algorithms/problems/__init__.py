"""The shared ground: losses, regularisers, records, networks, noise, exact minimisation."""
