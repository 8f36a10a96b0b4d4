"""Scores learnt on pilot runs: what an adversary does who knows nothing but what is released.

Each file learns from the first half of the pilot, a matrix of released numbers per world; `choice`
keeps the score that does best on the second half. Any score is valid, so none of this can make a
bound wrong.
"""
