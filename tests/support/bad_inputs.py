"""Small problems and methods that bad input is given to."""

import numpy as np

import weightnorm as wn

A = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])
Y = np.array([1.0, 2.0])
W = np.ones(3)
RPGD = wn.RPGD(0.1, 0.1)
PROBLEM = wn.LeastSquares(A, Y)
EYE = np.eye(2)
SENSING = wn.MatrixSensing([EYE], [1.0])


def with_entry(array, value):
    array = np.array(array, dtype=float)
    array[-1] = value
    return array
