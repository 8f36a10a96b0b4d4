"""The worst instances and neighbours known, per family of algorithms."""
