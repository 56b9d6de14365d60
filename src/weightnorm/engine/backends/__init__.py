"""Batches of runs: by the NumPy rules, by the compiled diagonal kernel, by the compiled sensing
kernel.
"""
