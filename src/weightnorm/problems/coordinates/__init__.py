"""Coordinates of the row space, by a factorisation of A."""
