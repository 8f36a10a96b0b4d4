"""The figures and tables of the five papers, computed again: one file each, found by folder.

Every experiment returns curves or a table, which become a CSV file; the picture is drawn from them
and from nothing else. Where a paper adds noise there are three kinds of curves: the printed noise,
the noise that is certified for the budget the paper claims, and comparisons at equal certified
budget with comparators that look at the data equally often.
"""
