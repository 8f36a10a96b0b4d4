"""Cases of a planned audit and how they are run."""
