"""Record what weightnorm computes, and compare two records: nothing may change but by intent.

    python tools/freeze.py record FILE.json      # with the weightnorm that this Python imports
    python tools/freeze.py compare OLD.json NEW.json

A record has a few hundred named entries: arrays, whose bytes are hashed so that every bit counts,
and texts. Only public names are used, so that it runs on any version since 0.3.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Entries = dict[str, Any]


def told(value: Any) -> Any:
    """What is kept of a value: texts as they are, arrays by shape, first numbers and hash."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    array = np.asarray(value)
    if array.dtype.kind in "OU":
        return str(value)
    content = np.ascontiguousarray(array)
    digest = hashlib.sha256(content.tobytes()).hexdigest()[:16]
    shown = [float(v) for v in content.ravel()[:4]] if array.dtype.kind in "fiub" else []
    return {"shape": list(array.shape), "first": shown, "hash": digest}


def of_result(result: Any) -> Entries:
    """All public numbers and texts of a run."""
    names = ("weights", "scale", "direction", "norm", "loss", "num_steps", "direction_norm")
    found = {name: told(getattr(result, name)) for name in (*names, "total_steps", "message")}
    found["status"] = str(result.status)
    for name in ("perp_norm", "distance"):
        try:
            found[name] = told(getattr(result, name))
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    if result.history is not None:
        columns = ("step", "loss", "scale", "direction_norm", "perp_norm", "weights_norm")
        found["history"] = {name: told(getattr(result.history, name)) for name in columns}
    return found


def of_dataset(data: Any) -> Entries:
    """All variables of a sweep, and its attributes but those that name the code."""
    found = {str(name): told(data[name].values) for name in [*data.data_vars, *data.coords]}
    skipped = ("code", "version", "weightnorm", "environment", "created")
    kept = {k: str(v) for k, v in data.attrs.items() if not any(s in str(k) for s in skipped)}
    return found | {"attributes": kept, "dims": str(dict(data.sizes))}


def problems(wn: Any) -> dict[str, tuple[Any, Any]]:
    """Problems of every class, each with a start direction."""
    import scipy.sparse

    rng = np.random.default_rng(7)
    wide = wn.datasets.make_regression(12, 30, condition_number=4.0, seed=1)
    tall = wn.LeastSquares(rng.normal(size=(40, 9)), rng.normal(size=40))
    lacking = rng.normal(size=(12, 4)) @ rng.normal(size=(4, 30))
    sparse = scipy.sparse.random(20, 50, density=0.2, random_state=3, format="csr")
    logistic = wn.datasets.make_generalized_linear(10, 25, loss="logistic", seed=2)
    poisson = wn.datasets.make_generalized_linear(10, 25, loss="poisson", seed=2)
    huber = wn.datasets.make_generalized_linear(10, 25, loss="huber", seed=2)
    features = rng.normal(size=(10, 15))
    found = {
        "wide": wide,
        "orthogonal": wn.datasets.make_regression(8, 20, seed=5),
        "tall": tall,
        "lacking": wn.LeastSquares(lacking, lacking @ rng.normal(size=30)),
        "sparse": wn.LeastSquares(sparse, sparse @ rng.normal(size=50)),
        "logistic": logistic,
        "poisson": poisson,
        "huber": huber,
    }
    starts = {n: wn.datasets.random_direction(p.shape[1], seed=11) for n, p in found.items()}
    pairs = {name: (problem, starts[name]) for name, problem in found.items()}
    kernel = wn.KernelLeastSquares(features @ features.T, rng.normal(size=10))
    pairs["kernel"] = kernel, 0.2 * features @ wn.datasets.random_direction(15, seed=3)
    return pairs


def methods(wn: Any) -> dict[str, Any]:
    """Every method, with every option that changes what it does."""
    s = wn.schedules
    found = {
        "gd": wn.GradientDescent(0.02),
        "wn": wn.WeightNorm(0.02, 0.01),
        "wn3": wn.WeightNorm(0.02, 0.01, initial_norm=3.0),
        "rpgd": wn.RPGD(0.02, 0.01),
        "bn": wn.BatchNorm(0.02, 0.01),
        "rpgd two-phase": wn.RPGD(s.two_phase(0.02, 0.001, 40), s.piecewise([0, 0.01], [30])),
        "rpgd scaled": wn.RPGD(s.scaled(0.02, norm_power=1), s.scaled(0.01, scale_power=1)),
        "gd callable": wn.GradientDescent(lambda t: 0.02 / (1 + 0.01 * t)),
    }
    for name, rule in (("gd", wn.GradientDescent), ("wn", wn.WeightNorm), ("rpgd", wn.RPGD),
                       ("bn", wn.BatchNorm)):  # fmt: skip
        steps = (0.02,) if name == "gd" else (0.02, 0.01)
        found[f"{name} momentum"] = rule(*steps, momentum=0.9)
        found[f"{name} nesterov"] = rule(*steps, momentum=0.5, nesterov=True)
        found[f"{name} batch"] = rule(*steps, batch_size=3, seed=5)
        if name != "bn":
            found[f"{name} noise"] = rule(*steps, label_noise=0.1, seed=5)
        decays = {"direction_decay": 0.01} | ({} if name == "gd" else {"scale_decay": 0.02})
        found[f"{name} decay"] = rule(*steps, **decays)
        if name != "gd":
            found[f"{name} clip"] = rule(*steps, clip=0.5)
    return found


def begin(problem: Any, start: Any) -> Entries:
    """How a start is given to `run`."""
    if type(problem).__name__ == "KernelLeastSquares":
        return {"start_values": start}
    return {"direction": start}


def runs(wn: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every method on every problem: reduced and recorded; full, resumed and pickled for some."""

    def one(problem: Any, start: Any, rule: Any, **options: Any) -> Entries:
        given = {"tolerance": 1e-8, "max_steps": 300} | options
        return of_result(wn.run(rule, problem, scale=1.3, **begin(problem, start), **given))

    def resumed(problem: Any, start: Any, rule: Any, others: Any, **options: Any) -> Entries:
        given = {"tolerance": 0, "record": 20} | options
        first = wn.run(rule, problem, scale=1.3, max_steps=77, **begin(problem, start), **given)
        again = pickle.loads(pickle.dumps(first))
        return {
            "on": of_result(wn.run(rule, problem, start=first, max_steps=60, **given)),
            "pickled": of_result(wn.run(rule, problem, start=again, max_steps=60, **given)),
            "other": of_result(wn.run(others, problem, start=first, max_steps=60, **given)),
        }

    for name, (problem, start) in problems(wn).items():
        for label, rule in methods(wn).items():
            job = (problem, start, rule)
            yield f"run {name}: {label}", lambda job=job: one(*job, record=50)
            if name in ("wide", "logistic", "kernel"):
                other = wn.GradientDescent(0.01) if name == "wide" else wn.WeightNorm(0.01, 0.02)
                yield f"resume {name}: {label}", lambda job=job, other=other: resumed(*job, other)
            if name in ("wide", "poisson"):
                yield f"full {name}: {label}", lambda job=job: one(*job, coordinates="full")
    problem, start = problems(wn)["wide"]
    for label, rule in {
        "curvature": wn.RPGD(wn.schedules.curvature(0.9), 0.05),
        "stable": wn.RPGD(wn.schedules.stable(0.9), wn.schedules.stable(0.9)),
    }.items():
        yield f"run wide: {label}", lambda r=rule: one(problem, start, r, max_steps=5000)
    rule = wn.RPGD(0.02, 0.01)
    keep = ("direction", "weights", "invariant")
    yield (
        "history as a dataset",
        lambda: of_dataset(
            wn.run(rule, problem, 1.3, start, record=25, keep=keep).history.to_dataset()
        ),
    )


def sensing(wn: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Matrix sensing, its references and its step search."""
    problem = wn.datasets.make_sensing(6, rank=2, num_measurements=18, seed=0)
    for label, rule, per_column in (
        ("gd", wn.GradientDescent(0.02), False),
        ("rpgd", wn.RPGD(0.01, 0.01), False),
        ("wn", wn.WeightNorm(0.01, 0.01), False),
        ("columns", wn.RPGD(0.01, 0.01, blocks="columns"), True),
        ("momentum", wn.RPGD(0.01, 0.01, momentum=0.5), False),
    ):
        start = wn.datasets.sensing_start(6, alpha=0.8, seed=2, per_column=per_column)
        yield (
            f"sensing: {label}",
            lambda r=rule, st=start: of_result(
                wn.run(r, problem, **st, tolerance=1e-9, max_steps=400, record=40)
            ),
        )
    yield (
        "sensing: references",
        lambda: {
            over: told(problem.min_nuclear_norm(over=over).value) for over in ("psd", "symmetric")
        },
    )


def sweeps(wn: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Sweeps in memory, on a few problems and by steps."""
    table = {k: methods(wn)[k] for k in ("gd", "wn", "rpgd", "bn", "rpgd momentum", "wn batch")}
    for name, (problem, start) in problems(wn).items():
        if name == "kernel":
            continue
        starts = np.array([start, np.roll(start, 1)])
        limits = {"tolerance": 1e-6, "max_steps": 2000}
        yield (
            f"sweep {name}",
            lambda p=problem, st=starts, o=limits: of_dataset(
                wn.sweep(p, methods=table, scales=[0.3, 1.0, 2.8], directions=st, **o)
            ),
        )
    problem, start = problems(wn)["wide"]

    def by_step(step: float) -> Any:
        return {"rpgd": wn.RPGD(step, step)}

    yield (
        "sweep by steps",
        lambda: of_dataset(wn.sweep(problem, by_step, [1.0, 2.0], start[None], steps=[0.01, 0.02])),
    )


def flows(wn: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The flows, their limits and a certificate."""
    names = ("time", "scale", "perp_norm", "loss", "weights", "invariant")
    for name in ("wide", "orthogonal", "tall", "lacking", "logistic", "kernel"):
        problem, start = problems(wn)[name]
        given = begin(problem, start)

        def flow(p: Any = problem, g: Any = given) -> Entries:
            found = wn.flow(p, 1.3, **g, ratio=0.7, max_time=20.0)
            return {n: told(getattr(found, n)) for n in names} | {"status": str(found.status)}

        def limit(p: Any = problem, g: Any = given) -> Entries:
            found = wn.theory.flow_limit(p, 1.3, **g, ratio=0.7)
            return {n: told(getattr(found, n)) for n in ("weights", "scale", "norm", "perp_norm")}

        yield f"flow {name}", flow
        yield f"limit {name}", limit
    problem, start = problems(wn)["wide"]
    for label in ("rpgd", "wn", "bn", "gd", "rpgd momentum", "rpgd decay"):
        rule = methods(wn)[label]
        yield (
            f"certificate: {label}",
            lambda r=rule: repr(
                wn.certificate(problem, wn.run(r, problem, 1.3, start, tolerance=1e-20))
            ),
        )
    yield "plan", lambda: repr(wn.theory.plan(problem, 1e-3, scale=2.0, direction=start))


def estimators(wn: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every estimator with most of its options."""
    rng = np.random.default_rng(4)
    X, new = rng.normal(size=(30, 50)), rng.normal(size=(7, 50))
    y, several = X @ rng.normal(size=50), X @ rng.normal(size=(50, 2))
    labels, three = (y > 0).astype(int), np.digitize(y, [-3.0, 3.0])
    small = {"tol": 1e-6, "max_iter": 3000}

    def fitted(model: Any, target: Any, **options: Any) -> Entries:
        model.fit(X, target, **options)
        names = ("coef_", "intercept_", "rank_", "n_iter_", "perp_norm_", "dual_coef_")
        found = {n: told(getattr(model, n)) for n in names if hasattr(model, n)}
        found |= {n: str(getattr(model, n)) for n in ("status_", "message_")}
        found["predictions"] = told(model.predict(new))
        if hasattr(model, "predict_proba"):
            found["probabilities"] = told(model.predict_proba(new))
        return found

    for label, make in {
        "limit": lambda: (wn.WeightNormRegressor(scale=1.0, random_state=0), y),
        "several": lambda: (wn.WeightNormRegressor(scale=1.0, random_state=0), several),
        "rpgd": lambda: (wn.WeightNormRegressor("rpgd", scale=1.0, random_state=0, **small), y),
        "wn": lambda: (wn.WeightNormRegressor("wn", scale=1.0, random_state=0, **small), y),
        "gd": lambda: (wn.WeightNormRegressor("gd", scale=1.0, random_state=0, **small), y),
        "huber": lambda: (wn.WeightNormRegressor(loss="huber", random_state=0), y),
        "cv": lambda: (wn.WeightNormRegressorCV(direction=np.ones(50)), y),
        "classes": lambda: (wn.WeightNormClassifier(scale=1.0, random_state=0), labels),
        "softmax": lambda: (wn.WeightNormClassifier(multi_class="softmax", random_state=0), three),
        "one against others": lambda: (wn.WeightNormClassifier(random_state=0), three),
        "trained classes": lambda: (
            wn.WeightNormClassifier("rpgd", scale=1.0, random_state=0, max_iter=200),
            labels,
        ),
        "kernel": lambda: (wn.WeightNormKernelRegressor(), y),
        "linear kernel": lambda: (wn.WeightNormKernelRegressor("linear", fit_intercept=False), y),
    }.items():
        yield f"fit: {label}", lambda m=make: fitted(*m())
    weights = rng.uniform(0.1, 2.0, 30)
    yield (
        "fit: weights",
        lambda: fitted(wn.WeightNormRegressor(random_state=0), y, sample_weight=weights),
    )


def surface(wn: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Public names with their signatures."""

    def signature(thing: Any) -> str:
        try:
            return str(inspect.signature(thing))
        except (TypeError, ValueError):
            return ""

    def names(module: Any) -> Entries:
        listed = getattr(module, "__all__", [n for n in dir(module) if n[0] != "_"])
        return {name: signature(getattr(module, name)) for name in sorted(listed)}

    yield "names", lambda: names(wn)
    for name in ("schedules", "datasets", "plot", "theory"):
        yield f"names of {name}", lambda n=name: names(getattr(wn, n))


def commands() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every --help, a certificate, a figure, a sweep and a fit by the command."""
    surroundings = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}

    def said(*words: str, folder: str | None = None) -> str:
        line = [str(Path(sys.executable).parent / "weightnorm"), *words]
        done = subprocess.run(line, capture_output=True, text=True, env=surroundings, cwd=folder)
        return f"{done.returncode}\n{done.stdout}"

    kinds = ("reproduce", "verify", "sweep", "fit", "predict", "explore")
    yield "help", lambda: said("--help")
    for kind in kinds:
        yield f"help {kind}", lambda k=kind: said(k, "--help")
    yield "verify", lambda: said("verify", "--instances", "3", "--json")

    def figure() -> Any:
        import xarray

        with tempfile.TemporaryDirectory() as folder:
            said("reproduce", "figure-1", "--quick", "--out", folder)
            return {
                path.name: of_dataset(xarray.open_dataset(path, engine="h5netcdf").load())
                for path in sorted(Path(folder).rglob("*.nc"))
            }

    def fit() -> Any:
        rng = np.random.default_rng(0)
        rows = np.column_stack([rng.normal(size=(40, 5)), rng.normal(size=40)])
        with tempfile.TemporaryDirectory() as folder:
            np.savetxt(f"{folder}/t.csv", rows, delimiter=",", header="a,b,c,d,e,y", comments="")
            return said("fit", "t.csv", "--target", "y", "--json", folder=folder)

    yield "reproduce figure-1", figure
    yield "fit a table", fit


def record(path: Path) -> None:
    """Compute every entry, and write them; what fails is recorded as it failed."""
    import weightnorm as wn

    print(f"weightnorm from {Path(wn.__file__).parent}")
    entries: Entries = {}
    sections = (runs, sensing, sweeps, flows, estimators, surface)
    jobs = [job for section in sections for job in section(wn)] + list(commands())
    for count, (name, job) in enumerate(jobs, 1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                entries[name] = job()
            except Exception as error:
                entries[name] = f"{type(error).__name__}: {error}"
        mine = sorted({str(w.message) for w in caught if "weightnorm" not in str(w.filename)})
        entries[f"{name} (warnings)"] = [t for t in mine if "deprecated" not in t]
        if sys.stderr.isatty() or count % 50 == 0:
            print(f"{count} of {len(jobs)}", file=sys.stderr)
    path.write_text(json.dumps(entries, indent=1, sort_keys=True), encoding="utf-8")
    print(f"{len(jobs)} entries in {path}")


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Where two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            if name not in old or name not in new:
                yield f"{where}/{name}: only in the {'old' if name in old else 'new'} one"
            else:
                yield from differences(old[name], new[name], f"{where}/{name}")
    elif old != new:
        yield f"{where}:\n    {old!r:.300}\n    {new!r:.300}"


def main() -> int:
    """Record, or compare."""
    if sys.argv[1:2] == ["record"] and len(sys.argv) == 3:
        record(Path(sys.argv[2]))
        return 0
    if sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        old, new = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[2:])
        found = list(differences(old, new))
        print("\n".join(found) or f"all {len(old)} entries are equal")
        return bool(found)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
