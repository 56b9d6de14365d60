"""Batches of runs: by the NumPy rules, or by the compiled kernels of diagonal problems, of linear
models, of matrix sensing, and of single runs on least squares with every option of a step.
"""
