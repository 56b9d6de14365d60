"""The paper, reproduced and refereed: its claims, their checks, its figures and experiments.

Wu, Dobriban, Ren, Wu, Li, Gunasekar, Ward and Liu, "Implicit Regularization and Convergence for
Weight Normalization" (NeurIPS 2020). `weightnorm verify` and `weightnorm reproduce` are its
commands. It imports the library, `weightnorm`; the library never imports it.
"""
