"""Planted bugs: mistakes of the kind that is found in practice; every audit must catch them."""
