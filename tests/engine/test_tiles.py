"""The tiles that compiled matrix products are made of, against plain sums."""

from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.engine import kernels
from weightnorm.engine.kernels import compiling, sensing
from weightnorm.engine.kernels.lanes import MIDDLE, NARROW

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(not compiling.enabled(), reason="NUMBA_DISABLE_JIT is set")
LANES = [NARROW, MIDDLE]


def plain_tile(a, b, c, rows, width, strides, jumps, count):
    """c[r] + Σ a[r·row + k·step + l·jump]·b[(l·count + k)·b_step : … + width]."""
    row, step, jump, b_step, c_row = strides
    for r in range(rows):
        for l_ in range(jumps):
            for k in range(count):
                at = (l_ * count + k) * b_step
                left = a[r * row + k * step + l_ * jump]
                c[r * c_row : r * c_row + width] += left * b[at : at + width]
    return c


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("rows", [1, 6, 12])
@pytest.mark.parametrize("add", [0, 1])
def test_a_tile_is_a_sum_of_products(lanes, rows, add):
    strides = row, step, jump, b_step, c_row = 1, rows + 1, 50, lanes.width + 2, lanes.width + 1
    rng, tile = np.random.default_rng(rows), lanes.tile(rows)
    fixed = lanes.tile(rows, row, step)

    @numba.njit
    def both(a, b, c, d):
        tile(a, 2, row, step, jump, b, 3, b_step, 3, 4, c, 1, c_row, add)
        fixed(a, 2, 0, 0, jump, b, 3, b_step, 3, 4, d, 1, c_row, add)

    a, b = rng.standard_normal(300), rng.standard_normal(400)
    before = rng.standard_normal(rows * c_row + lanes.width)
    c, d = before.copy(), before.copy()
    both(a, b, c, d)
    expected = before.copy()
    if not add:
        for r in range(rows):
            expected[1 + r * c_row : 1 + r * c_row + lanes.width] = 0.0
    plain_tile(a[2:], b[3:], expected[1:], rows, lanes.width, strides, 3, 4)
    assert np.allclose(c, expected, rtol=1e-13, atol=1e-13)
    assert np.array_equal(c, d)


@pytest.mark.parametrize("lanes", LANES)
def test_a_transposed_block(lanes):
    width, transpose = lanes.width, lanes.transpose

    @numba.njit
    def turn(a, b):
        transpose(a, 1, width + 3, b, 2, width + 1)

    a, b = np.arange(200.0), np.full(200, -1.0)
    turn(a, b)
    expected = np.full(200, -1.0)
    for k in range(width):
        for j in range(width):
            expected[2 + k * (width + 1) + j] = a[1 + j * (width + 3) + k]
    assert np.array_equal(b, expected)


@pytest.mark.long
@pytest.mark.parametrize(("size", "rank", "measurements"), [(7, 3, 13), (30, 30, 60), (40, 5, 900)])
def test_the_numbers_do_not_depend_on_the_registers(monkeypatch, size, rank, measurements):
    """The kernel as another CPU has it, with tiles of other rows: the same bits."""
    with monkeypatch.context() as patch:
        wide = compiling.has_wide_registers()
        patch.setattr(compiling, "has_wide_registers", lambda: not wide)
        spec = spec_from_file_location(f"{sensing.__name__}_other", sensing.__file__)
        other = module_from_spec(spec)
        spec.loader.exec_module(other)
    assert {other.ROWS, sensing.ROWS} == {6, 12}
    problem = wn.datasets.make_sensing(size, 2, measurements, seed=1)
    W = np.random.default_rng(0).standard_normal((size, rank))
    methods = {
        "gd": wn.GradientDescent(1e-4),
        "wn": wn.WeightNorm(1e-3, 1e-3),
        "rpgd": wn.RPGD(1e-4, 1e-4, blocks="columns"),
    }

    def swept():
        return wn.sweep(problem, methods, [0.3, 1.0, 2.0, 3.0], W, tolerance=0, max_steps=25)

    ours = swept()
    monkeypatch.setattr(kernels, "sensing", other)
    theirs = swept()
    assert np.array_equal(ours.norm, theirs.norm)
    assert np.array_equal(ours.loss, theirs.loss)
