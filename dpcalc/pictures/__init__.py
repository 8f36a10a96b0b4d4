"""Curves, how they are drawn, and how pictures are written."""
