"""Losses of A x: least squares and generalized linear models."""
