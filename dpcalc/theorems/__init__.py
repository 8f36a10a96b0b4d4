"""Published results, one file each, grouped by family; see `dpcalc.theorems.catalogue`."""
