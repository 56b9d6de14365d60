"""Sensible and hostile values, as Python source: so a call can be printed and replayed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import weightnorm as wn
from weightnorm_paper import lemmas


class UserError(Exception):
    """What a user's own callable raises: it must come through as it is."""


def fail(*arguments):
    raise UserError("from the user's own callable")


def with_entry(array, value):
    array = np.array(array, dtype=np.float64)
    array.flat[-1] = value
    return array


def frozen(array):
    array = np.array(array)
    array.setflags(write=False)
    return array


def operator(A, adjoint=None, dtype=np.float64):
    """A as a LinearOperator, with A's own adjoint or one that lies."""
    adjoint = (lambda r: A.T @ r) if adjoint is None else adjoint
    return LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=adjoint, dtype=dtype)


class Pairs(Mapping):
    """A mapping whose keys need not be hashable."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def __getitem__(self, key):
        return next(value for name, value in self.pairs if name is key)

    def __iter__(self):
        return iter([name for name, _ in self.pairs])

    def __len__(self):
        return len(self.pairs)


class OwnLoss:
    """A loss of the user's own, ½z² unless told otherwise."""

    def __init__(self, value=lambda z: 0.5 * z**2, derivative=lambda z: z, smoothness=1.0):
        self.value, self.derivative, self.smoothness = value, derivative, smoothness


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


NAMES = {
    "np": np, "wn": wn, "Decimal": Decimal, "Fraction": Fraction, "sparse": scipy.sparse,
    "aslinearoperator": aslinearoperator, "nan": float("nan"), "inf": float("inf"), "fail": fail,
    "with_entry": with_entry, "frozen": frozen, "operator": operator, "Pairs": Pairs,
    "OwnLoss": OwnLoss, "normal": normal, "lemmas": lemmas,
}  # fmt: skip

EXTREME = (
    "nan", "inf", "-inf", "0", "0.0", "-0.0", "-1.0", "-1", "1e6", "1e-6", "-1e6", "1e150",
    "1e-150", "1e300", "-1e300", "1e-300", "5e-324", "2e-308", "1.7976931348623157e308", "10**400",
    "-(2**63)",
)  # fmt: skip
SIZES = ("0", "-1", "1", "2**62", "10**400", "1.5", "2.0", "nan", "10**18", "np.uint64(2**63)")
OTHER_KINDS = (
    "True", "None", "'1'", "1j", "b'1'", "object()", "{}", "[]", "[0.5]", "np.longdouble('0.5')",
    "np.float16(0.5)", "np.float32(0.1)", "np.array(0.5)", "np.array([0.5])", "np.array([])",
    "np.array(0.5, dtype=object)", "np.array(None)", "np.array('x')", "np.array(1 + 0j)",
    "np.longdouble('1e4000')", "np.array(np.longdouble('0.5'))", "Fraction(1, 3)", "Decimal('0.5')",
    "np.bool_(True)", "np.int8(1)", "np.datetime64('2020')", "np.ma.masked",
    "np.ma.array(0.5, mask=True)", "np.array([1.0, 2.0])", "(1.0,)", "np.str_('1')", "lambda: 1.0",
)  # fmt: skip
BAD_ARRAYS = (
    "with_entry({0}, nan)", "with_entry({0}, inf)", "{0} * nan", "{0} * 1e150", "{0} * 1e-150",
    "{0} * 1e300", "{0} * 1e-300", "{0} * 5e-324", "{0} * 1e6", "{0} * 1e-6", "0 * {0}",
    "{0}.astype(np.longdouble)", "{0}.astype(object)", "{0} + 1j", "{0}.astype(complex)",
    "np.ma.array({0}, mask={0} > 0)", "np.ma.array({0}, mask={0} > 1e9)", "{0}.astype(str)",
    "{0}[:0]", "{0}[..., :0]", "{0}.ravel()[:1]", "{0}[None]", "{0}[..., None]", "np.array(1.0)",
    "None", "'text'", "3.0", "[[1.0, 2.0], [3.0]]", "{0} > 0", "{0}.astype('M8[s]')", "{0}.T",
    "np.repeat({0}, 2, axis=0)", "[None] * len({0})", "[10**400] * len({0})",
    "{0}.astype([('a', float)])", "object()", "{{}}", "iter({0})", "set()",
)  # fmt: skip
HARMLESS_ARRAYS = (
    "{0}.tolist()", "{0}.astype(np.float32)", "{0}.astype(np.float16)", "frozen({0})",
    "{0}.astype('>f8')", "np.asfortranarray({0})", "tuple({0}.tolist())",
    "np.rint(3 * {0}).astype(np.int8)",
)  # fmt: skip
# never to be accepted as data
DEAD_GIVEAWAYS = ("nan)", "* nan", "+ 1j", "mask={0} > 0", "lambda r")


class Values:
    """Draws the arguments of one call; `hostility` is the chance that one of them is bad."""

    def __init__(self, rng: np.random.Generator, hostility: float) -> None:
        self.rng, self.hostility = rng, hostility
        self.setup: list[str] = []  # assignments before the call
        self.clean = True  # nothing hostile so far
        self.refuse = False  # something in it must not be accepted
        self.twin: str | None = None  # a comparison to make with the result

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def bad(self) -> bool:
        """Whether this argument is to be hostile."""
        hostile = self.chance(self.hostility)
        self.clean &= not hostile
        return hostile

    def bind(self, text: str) -> str:
        """Give a value a name of its own, so that it can be looked at after the call."""
        name = f"v{len(self.setup)}"
        self.setup.append(f"{name} = {text}")
        return name

    def number(self, *good: str) -> str:
        if not self.bad():
            return self.pick(good)
        return self.pick(EXTREME if self.chance(0.7) else OTHER_KINDS)

    def whole(self, *good: str, huge: bool = False) -> str:
        if not self.bad():
            return self.pick(good)
        if self.chance(0.6):
            return self.pick(
                SIZES if huge else ("0", "-1", "1.5", "2.0", "nan", "-(10**400)", "np.int8(3)")
            )
        return self.pick(OTHER_KINDS)

    def word(self, *good: str) -> str:
        if not self.bad():
            return repr(self.pick(good))
        return self.pick(
            ("''", "'no such'", "None", "3", "['reduced']", "np.array(['a'])", "b'gd'", "{}")
        )

    def array(self, *shape: int, scale: str = "1.0") -> str:
        """A normal array, sometimes of another type or memory layout, sometimes bad."""
        text = f"normal({int(self.rng.integers(1000))}, {', '.join(map(str, shape))}) * {scale}"
        name = self.bind(text)
        if self.bad():
            template = self.pick(BAD_ARRAYS)
            self.refuse |= any(sign in template for sign in DEAD_GIVEAWAYS)
            return self.bind(template.format(name))
        if self.chance(0.15):
            self.clean = False
            return self.bind(self.pick(HARMLESS_ARRAYS).format(name))
        return name


def evaluate(setup: list[str]) -> dict:
    """The values of the assignments, quietly: what they are is no matter of the library."""
    scope = dict(NAMES)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for line in setup:
            exec(line, scope)
    return scope
