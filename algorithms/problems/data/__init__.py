"""Data sets from files, from OpenML, and generated ones."""
