"""What do other libraries' mechanisms leak? One file per mechanism, found by folder.

dpcalc audit dpcalc.audits.libraries.diffprivlib_laplace:SHIPPED --seed 1
"""
