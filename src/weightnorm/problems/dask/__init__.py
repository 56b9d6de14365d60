"""Least squares on data larger than memory, in Dask's blocks."""
