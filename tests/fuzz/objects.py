"""Random calls of schedules, data sets, problems, methods and estimators, as source."""

from __future__ import annotations

from tests.fuzz.problems import generalized, least_squares, method, options, schedule, sensing
from tests.fuzz.values import Values


def schedules(v: Values) -> str:
    text = schedule(v)
    if not text.startswith("wn.schedules"):
        text = f"wn.schedules.scaled({text}, {v.number('1')}, {v.number('1', '2')})"
    at = v.pick(("3", "[0, 5, 10]", "np.arange(8)", "0", "[]"))
    if v.bad():
        at = v.pick(
            (
                "-1",
                "nan",
                "[nan]",
                "1.5",
                "'a'",
                "None",
                "2**70",
                "[[0, 1]]",
                "inf",
                "1j",
                "[10**400]",
                "True",
            )
        )
    return f"{text}({at})"


def datasets(v: Values) -> str:
    seed = lambda: v.whole("0", "1", "2**70")  # noqa: E731
    kind = v.pick(("make_regression", "random_direction", "make_sensing", "sensing_start"))
    if kind == "make_regression":
        extra = options(
            v,
            condition_number=lambda: v.number("1.0", "10.0", "1e6"),
            solution_norm=lambda: v.number("3.0", "0.0", "1.0"),
            noise=lambda: v.number("0.0", "0.1"),
            seed=seed,
        )
        size = f"{v.whole('3', '1', huge=True)}, {v.whole('8', '1', huge=True)}"
        return f"wn.datasets.make_regression({size}{extra}).min_norm_solution()"
    if kind == "random_direction":
        return f"wn.datasets.random_direction({v.whole('5', '1', huge=True)}, {seed()})"
    if kind == "make_sensing":
        size = (
            f"{v.whole('3', huge=True)}, {v.whole('1', '3', huge=True)}, {v.whole('5', huge=True)}"
        )
        return f"wn.datasets.make_sensing({size}, {seed()}).y"
    extra = options(
        v,
        alpha=lambda: v.number("1.0", "0.1"),
        seed=seed,
        per_column=lambda: v.pick(("True", "False", "None")),
    )
    return f"wn.datasets.sensing_start({v.whole('3', '1', huge=True)}{extra})"


def linear_methods(v: Values) -> str:
    """value, gradient and the rest of a linear problem."""
    data = least_squares(v) if v.chance(0.7) else generalized(v)
    what = v.pick(
        (
            "value",
            "gradient",
            "min_norm_solution()",
            "min_norm_solution(iterative=True)",
            "floor",
            "curvature",
        )
    )
    if "Generalized" in data.text and ("solution" in what or what in ("floor", "curvature")):
        what = "value"
    if what not in ("value", "gradient"):
        if what == "min_norm_solution()" and data.plain:
            v.twin = f"same(result, np.linalg.pinv({data.A}) @ {data.y}, 1e-6)"
        return f"{data.text}.{what}"
    x = v.array(data.d) if v.chance(0.6) else v.array(2, data.d)
    if data.plain and v.clean and "Least" in data.text:
        residual = f"({x} @ {data.A}.T - {data.y})"
        v.twin = (
            f"same(result, 0.5 * ({residual}**2).sum(-1))"
            if what == "value"
            else f"same(result, {residual} @ {data.A})"
        )
    return f"{data.text}.{what}({x})"


def sensing_methods(v: Values) -> str:
    data = sensing(v)
    what = v.pick(("measure", "value", "gradient", "recovery_error", "min_nuclear_norm"))
    if what == "min_nuclear_norm":
        return f"{data.text}.min_nuclear_norm({v.word('psd', 'symmetric', 'all')})"
    X = v.array(data.d, data.d) if v.chance(0.6) else v.array(2, data.d, data.d)
    return f"{data.text}.{what}({X})"


def methods_alone(v: Values) -> str:
    text = method(v, columns=True)
    return (
        f"repr({text}.schedules)"
        if text.startswith("wn.") and "(" in text
        else "wn.RPGD(None, None)"
    )


def estimator(v: Values) -> str:
    classify = v.chance(0.4)
    m, d = v.pick(((6, 3), (4, 8), (5, 5), (1, 3), (2, 1)))
    X = v.array(m, d, scale=v.pick(("1.0", "1.0", "1e3", "1e-3")))
    if v.clean and v.chance(0.25):
        X = v.bind(
            v.pick(
                (
                    "sparse.csr_array({0})",
                    "sparse.csc_array({0})",
                    "0 * {0}",
                    "{0}[:, :1] * {0}[:1]",
                )
            ).format(X)
        )
    y = v.array(
        m, scale=v.pick(("1.0", "1.0", "1e6", "1e-6", "1e200", "1e-200", "1e-310", "1e307"))
    )
    if classify and v.clean:
        y = v.bind(
            v.pick(
                (
                    "({0} > 0) * 1",
                    "np.where({0} > 0, 'a', 'b')",
                    "np.rint({0})",
                    "np.arange(len({0})) % 3",
                )
            ).format(y)
        )
    kinds = ("rpgd", "wn", "gd") if classify else ("limit", "rpgd", "wn", "gd")
    extra = options(
        v,
        scale=lambda: v.number("0.0", "1.0", "-1.0"),
        direction=lambda: v.array(d),
        coef_init=lambda: v.array(d) if v.chance(0.7) else "None",
        ratio=lambda: v.number("0.1", "1.0"),
        direction_step=lambda: schedule(v),
        scale_step=lambda: schedule(v),
        fit_intercept=lambda: v.pick(("True", "False")),
        tol=lambda: v.number("1e-4", "1e-2", "0"),
        random_state=lambda: v.whole("0", "1"),
    )
    name = "WeightNormClassifier" if classify else "WeightNormRegressor"
    model = f"wn.{name}({v.word(*kinds)}, max_iter={v.whole('20', '100')}{extra}).fit({X}, {y})"
    if v.chance(0.5):
        return model
    what = v.pick(("predict", "predict_proba", "decision_function") if classify else ("predict",))
    return f"{model}.{what}({v.array(2, d) if v.chance(0.5) else X})"
