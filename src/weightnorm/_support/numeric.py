"""What numbers are: the type of arrays, and the constants of double precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)  # 2.2e-16, the distance from 1 to the next number
TINY = float(np.finfo(np.float64).tiny)  # 2.2e-308, the smallest number with all its digits
# sizes of data and solutions: of such a number neither the square nor the inverse of the square
# over- or underflows
LARGEST = 1e140
