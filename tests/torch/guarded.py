"""Steps on memory that ends at a page nobody may touch: a number too far ends the process.

Run as a script with a seed and a number of cases; it prints how many steps it made.
"""

import ctypes
import mmap
import sys

import numpy as np
import torch

from weightnorm.torch import RPGD, WeightNormSGD

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
KEPT = []  # the mappings live as long as the process


def guarded(values, at_end):
    """A copy of a tensor whose memory touches a forbidden page at its end, or at its beginning."""
    array = values.detach().numpy()
    room = -(-max(array.nbytes, 1) // PAGE) * PAGE
    area = mmap.mmap(-1, room + 2 * PAGE)
    KEPT.append(area)
    base = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for page in (base, base + PAGE + room):
        if LIBC.mprotect(page, PAGE, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = PAGE + (room - array.nbytes if at_end else 0)
    inside = np.frombuffer(area, array.dtype, array.size, offset).reshape(array.shape)
    inside[...] = array
    return torch.from_numpy(inside)


def one_case(rng):
    """A parameter of a random shape and some steps of a random optimiser; the number of steps."""
    dtype = torch.float32 if rng.random() < 0.7 else torch.float64
    shape = tuple(int(n) for n in rng.integers(1, 40, size=rng.integers(2, 4)))
    if rng.random() < 0.2:
        shape = (int(rng.integers(1, 5)), int(rng.integers(1, 3000)))
    at_end, kind = bool(rng.random() < 0.7), (RPGD, WeightNormSGD)[rng.integers(2)]
    options = {"dim": (0, None, tuple(range(len(shape) - 1)))[rng.integers(3)]}
    if rng.random() < 0.5:
        options |= {"momentum": 0.9, "nesterov": bool(rng.random() < 0.5)}
    p = torch.nn.Parameter(guarded(torch.randn(shape, dtype=dtype), at_end))
    optimizer, made = kind([p], 0.1, **options), 0
    for _ in range(6):
        p.grad = guarded(torch.randn(shape, dtype=dtype), at_end)
        if made == 1:  # the state, too, ends where nothing may be touched
            state = optimizer.state[p]
            for name in list(state):
                state[name] = guarded(state[name], at_end)
        if made == 3:  # and is followed
            p.data.mul_(-0.5)
        optimizer.step()
        made += 1
        assert p.isfinite().all()
    return made


if __name__ == "__main__":
    seed, cases = int(sys.argv[1]), int(sys.argv[2])
    generator = np.random.default_rng(seed)
    torch.manual_seed(seed)
    if cases == 0:  # does the guard bark at all?
        tensor = guarded(torch.zeros(3, 5), at_end=True)
        ctypes.memset(tensor.data_ptr() + 4 * tensor.numel(), 0, 4)
    sys.stdout.write(f"{sum(one_case(generator) for _ in range(cases))}\n")
