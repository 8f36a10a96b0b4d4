"""Stages of an experiment: pilot, counted and tilted runs, sequential tests, their storage."""
