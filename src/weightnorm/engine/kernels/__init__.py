"""The compiled fast path for diagonal least squares. Nothing outside this folder imports numba."""
