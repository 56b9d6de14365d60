"""Random problems, starts, methods and schedules, as source."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.values import Values


@dataclass
class Data:
    """A problem as source, its matrix and targets (dense names, for a twin) and its sizes."""

    text: str
    A: str
    y: str
    m: int
    d: int
    plain: bool  # dense, float64, fit for a twin


SHAPES = ((1, 3), (3, 7), (4, 4), (6, 3), (2, 9), (1, 1), (3, 1))
KINDS = (
    "{0}", "{0}", "{0}", "{0}", "{0}", "np.vstack([{0}, {0}])", "{0} * 0", "{0}[:, :1] * {0}[:1]",
    "sparse.csr_array({0})", "sparse.coo_array({0})", "aslinearoperator({0})", "operator({0})",
)  # fmt: skip
LIARS = (
    "operator({0}, lambda r: -({0}.T @ r))", "operator({0}, lambda r: {0}.T @ r * nan)",
    "operator({0}, lambda r: r)", "operator({0}, lambda r: {0}.T @ r + 1)", "operator({0}, fail)",
    "operator({0} * nan, lambda r: {0}.T @ r)", "operator({0}, lambda r: ({0}.T @ r)[:, None][:0])",
    "sparse.csr_array({0} * nan)", "sparse.csr_array({0} + 1j)",
)  # fmt: skip
SCALES = ("1.0", "1.0", "1.0", "3.0", "1e-3", "1e3")


def least_squares(v: Values, dense: bool = False, kernels: bool = False) -> Data:
    """LeastSquares of any kind of A, with y reachable, out of reach, zero, large or small; with
    `kernels` also a KernelLeastSquares, whose directions have an entry more than samples.
    """
    m, d = v.pick(SHAPES)
    A = v.array(m, d, scale=f"{v.pick(SCALES)} / {d**0.5:.4f}")
    plain = v.clean
    if plain and not dense:
        kind = v.pick(KINDS)
        if v.bad():
            kind = v.pick(LIARS)
            v.refuse = "fail" not in kind
        plain = kind == "{0}"
        A = A if plain else v.bind(kind.format(A))
        m = 2 * m if "vstack" in kind else m
    if plain and v.chance(0.6):
        y = v.bind(f"{A} @ normal({int(v.rng.integers(1000))}, {d}) * {v.pick(SCALES)}")
    else:
        y = v.array(m, scale=v.pick(SCALES))
    if v.clean and v.chance(0.12):
        v.clean = plain = False
        y = v.bind(
            f"{y} * "
            + v.pick(("0", "1e6", "1e-6", "1e150", "1e-150", "1e160", "1e-300", "1e-310", "1e305"))
        )
    if kernels and plain and v.chance(0.2):
        return Data(f"wn.KernelLeastSquares({A} @ {A}.T, {y})", A, y, m, m + 1, False)
    return Data(f"wn.LeastSquares({A}, {y})", A, y, m, d, plain and v.clean)


def generalized(v: Values) -> Data:
    """GeneralizedLinear with a loss by name or of one's own."""
    base = least_squares(v)
    loss = v.pick(("logistic", "poisson", "huber", "squared", "own"))
    y = base.y
    if loss in ("logistic", "poisson") and v.clean:
        y = v.bind(f"(np.abs({y}) > 0.5) * {'1.0' if loss == 'logistic' else '3.0'}")
    name = v.word(loss) if loss != "own" else "OwnLoss()"
    if v.bad():
        name = v.pick((
            "OwnLoss(fail)", "OwnLoss(lambda z: z * nan)", "OwnLoss(lambda z: z[..., :1])",
            "OwnLoss(smoothness='x')", "OwnLoss(lambda z: None)",
            "OwnLoss(derivative=lambda z: z.astype(np.longdouble))", "3", "None",
            "OwnLoss(derivative=lambda z: z * 1e300)", "OwnLoss(smoothness=nan)",
            "OwnLoss(lambda z: z.astype(object))", "OwnLoss(derivative=lambda z: z + 1j)",
            "OwnLoss(smoothness=0)",
        ))  # fmt: skip
    return Data(f"wn.GeneralizedLinear({base.A}, {y}, {name})", base.A, y, base.m, base.d, False)


def sensing(v: Values) -> Data:
    """MatrixSensing, with y of a positive semidefinite matrix or any."""
    m, d = v.pick(((1, 1), (3, 2), (4, 3), (6, 3)))
    sensors = v.array(m, d, d, scale=v.pick(SCALES[:4]))
    if v.clean and v.chance(0.6):
        y = v.bind(
            f"np.trace({sensors} @ (lambda U: U @ U.T)(normal(1, {d}, 1)), axis1=1, axis2=2)"
        )
    else:
        y = v.array(m, scale=v.pick(SCALES))
    truth = f", ground_truth={v.array(d, d)}" if v.chance(0.2) else ""
    return Data(f"wn.MatrixSensing({sensors}, {y}{truth})", sensors, y, m, d, v.clean)


def schedule(v: Values) -> str:
    """A step: a number, a schedule or a callable."""
    kind = v.rng.random()
    if kind < 0.45:
        return v.number("0.1", "0.05", "0.01", "0", "1")
    if kind < 0.55:
        return (
            f"wn.schedules.two_phase({v.number('0', '0.1')}, {v.number('0.1')}, "
            f"{v.whole('3', '7', '0')})"
        )
    if kind < 0.62:
        return f"wn.schedules.constant({v.number('0.1')})"
    if kind < 0.70:
        values, switches = "[0.1, 0.0, 0.05]", "[2, 6]"
        if v.bad():
            values = v.pick(
                (
                    "[0.1, nan]",
                    "[]",
                    "[0.1]",
                    "['a', 1, 2]",
                    "None",
                    "0.1",
                    "np.ones((3, 1))",
                    "[1e300, 1, 1]",
                )
            )
            switches = v.pick(
                (
                    "[2, 6]",
                    "[6, 2]",
                    "[]",
                    "[1.5, 3]",
                    "None",
                    "[10**400, 10**401]",
                    "[2**63, 2**64]",
                )
            )
        return f"wn.schedules.piecewise({values}, {switches})"
    if kind < 0.82:
        return f"wn.schedules.curvature({v.number('0.5', '1.0')})"
    if kind < 0.92:
        powers = f"{v.number('0.0', '1', '-1', '-2')}, {v.number('0', '1', '2')}"
        return f"wn.schedules.scaled({v.number('0.1', '0.01')}, {powers})"
    if not v.bad():
        return v.pick(("lambda t: 0.1 / (1 + t)", "lambda t: 0.05", "lambda t: np.float32(0.1)"))
    return v.pick((
        "fail", "lambda t: nan", "lambda t: inf", "lambda t: None", "lambda t: -1.0",
        "lambda t: np.longdouble('0.1')", "lambda t: np.array([0.1])", "lambda t: np.array(0.1)",
        "lambda t: 1e300", "lambda: 0.1", "lambda t: '0.1'", "lambda t: 0.1j", "lambda t: 10**400",
        "lambda t: 0.1 if t < 4 else fail()", "lambda t: 1 / t", "max", "int",
        "lambda t: Fraction(1, 10)", "lambda t: np.array(0.1, dtype=object)", "lambda t: True",
        "str", "wn.schedules.Schedule()", "wn.schedules.Schedule(phases=(np.longdouble('0.1'),))",
        "wn.schedules.Schedule(phases=np.array([0.1], dtype=object))",
        "wn.schedules.Schedule(phases=(1, 2), switches=(nan,))",
        "wn.schedules.Schedule(phases=('a',))",
        "wn.schedules.Schedule(phases=(0.1,), scale_power=nan)",
    ))  # fmt: skip


def method(v: Values, columns: bool = False) -> str:
    """A training rule with any steps."""
    kind = v.pick(("GradientDescent", "WeightNorm", "RPGD", "BatchNorm"))
    if v.chance(0.4 * v.hostility):
        v.clean = False
        return v.pick(
            (
                "None",
                "'rpgd'",
                "wn.RPGD",
                "3",
                "{}",
                "object()",
                "wn.RPGD(0.1)",
                "wn.RPGD(0.1, 0.1, bad=1)",
            )
        )
    options = training(v)
    if kind == "GradientDescent":
        return f"wn.GradientDescent({schedule(v)}{options})"
    extra = (
        f", initial_norm={v.number('1.0', '2.0', '0.1')}"
        if kind in ("WeightNorm", "BatchNorm") and v.chance(0.4)
        else ""
    )
    if v.chance(0.1):
        extra += f", scale_decay={v.number('0.1', '0.01')}"
    if kind != "BatchNorm" and ((columns and v.chance(0.5)) or v.chance(0.3 * v.hostility)):
        extra += f", blocks={v.word('columns', 'all')}"
    return f"wn.{kind}({schedule(v)}, {schedule(v)}{extra}{options})"


def training(v: Values) -> str:
    """Momentum, decay, clipping, mini-batches and label noise, seeded."""
    options = ""
    if v.chance(0.1):
        options += f", direction_decay={v.number('0.1', '0.01')}"
    if v.chance(0.1):
        options += f", clip={v.number('1.0', '0.1')}"
    if v.chance(0.2):
        options += f", momentum={v.number('0.5', '0.9', '0.0')}"
        options += f", nesterov={v.pick(('True', 'False'))}" if "0.0" not in options else ""
    if v.chance(0.1):
        options += f", batch_size={v.whole('1', '2')}, seed={v.whole('0', '7')}"
    elif v.chance(0.1):
        options += f", label_noise={v.number('0.1', '0.01')}, seed={v.whole('0', '7')}"
    return options


def start(v: Values, d: int) -> tuple[str, str]:
    """A scale and a direction."""
    return v.number("1.0", "0.5", "2.0", "-1.0", "0.1", "0.0"), v.array(d)


def sensing_start(v: Values, d: int, columns: bool = True) -> tuple[str, str]:
    """A scale and a factor."""
    r = v.pick((d, 1))
    scale = v.array(r) if v.chance(0.1) else v.number("1.0", "0.1", "0.01")
    return scale, v.array(d, r)


def options(v: Values, **choices) -> str:
    """Some of the keyword arguments, each drawn by its function; rarely one that does not exist."""
    chosen = [f"{name}={draw()}" for name, draw in choices.items() if v.chance(0.35)]
    if v.chance(0.1 * v.hostility):
        chosen.append(f"no_such_option_{int(v.rng.integers(10**6))}=1")
    return "".join(f", {text}" for text in chosen)
