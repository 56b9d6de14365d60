"""wn.plot: what is drawn is what the data says, with the exact theory over it."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

import weightnorm as wn
from weightnorm.plot.phase import draw_phase, phase_data
from weightnorm.plot.style import LOOKS, OTHERS, looks
from weightnorm.runs.dataset import exact_norms
from weightnorm_paper.experiments import EXPERIMENTS
from weightnorm_paper.experiments.runs import Settings

SCALES = [0.5, 1.0, 2.0, 3.0]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(6, 15, solution_norm=7.5, seed=0)


@pytest.fixture(scope="module")
def data(problem):
    methods = {
        "gd": wn.GradientDescent(0.02),
        "rpgd": wn.RPGD(0.02, 0.02),
        "mine": wn.WeightNorm(0.02, 0.06),
    }
    starts = [wn.datasets.random_direction(15, seed) for seed in range(4)]
    return wn.sweep(problem, methods, SCALES, starts)


def lines(ax):
    """The lines of an axes by their label, as arrays."""
    return {line.get_label(): np.column_stack(line.get_data()) for line in ax.get_lines()}


class TestEndNorms:
    def test_lines_are_means_and_exact_limits(self, data):
        ax = wn.plot.end_norms(data)
        drawn, limit = lines(ax), exact_norms(data).mean("start")
        for name, label in (("gd", "gradient descent"), ("rpgd", "rPGD"), ("mine", "mine")):
            np.testing.assert_allclose(drawn[label][:, 0], SCALES)
            mean = data.norm.sel(algorithm=name).mean("start")
            np.testing.assert_allclose(drawn[label][:, 1], mean)
        for name, label in (
            ("gd", "exact limit of gradient descent"),
            ("rpgd", "exact limit of the WN flow"),
            ("mine", "exact limit of the WN flow, c = 3"),
        ):
            np.testing.assert_allclose(drawn[label][:, 1], limit.sel(algorithm=name))
        assert "minimum norm ‖x*‖ = 7.5" in drawn  # and not 3

    def test_it_draws_into_the_axes_given(self, data):
        ax = plt.subplots()[1]
        assert wn.plot.end_norms(data, ax, theory=False) is ax
        assert not any("limit" in label for label in lines(ax))

    def test_runs_that_did_not_converge_are_marked(self, problem, data):
        few = wn.sweep(
            problem,
            {"gd": wn.GradientDescent(0.1)},
            SCALES,
            wn.datasets.random_direction(15, 0),
            max_steps=3,
        )
        ax = wn.plot.end_norms(few)
        hollow = [line for line in ax.get_lines() if line.get_markerfacecolor() == "white"]
        np.testing.assert_allclose(hollow[0].get_xdata(), SCALES)
        marks = wn.plot.end_norms(data).get_lines()
        assert not [line for line in marks if line.get_markerfacecolor() == "white"]

    def test_runs_that_diverged_are_left_out(self, problem):
        starts = [wn.datasets.random_direction(15, seed) for seed in range(3)]
        data = wn.sweep(problem, {"gd": wn.GradientDescent(0.1)}, SCALES, starts)
        data.status[0, 0], data.norm[0, 0] = wn.Status.DIVERGED.code, 1e30
        drawn = lines(wn.plot.end_norms(data))["gradient descent"]
        np.testing.assert_allclose(drawn[:, 1], data.norm[0, 1:].mean("start"))

    def test_along_steps_and_condition_numbers(self, problem):
        starts = [wn.datasets.random_direction(15, seed) for seed in range(2)]
        by_step = wn.sweep(
            problem, lambda s: {"rpgd": wn.RPGD(s, s)}, [2.0], starts, steps=[0.01, 0.1]
        )
        ax = wn.plot.end_norms(by_step)
        assert ax.get_xlabel() == "step size"
        assert ax.get_xscale() == "log"
        both = wn.sweep(
            problem, lambda s: {"rpgd": wn.RPGD(s, s)}, SCALES, starts, steps=[0.01, 0.1]
        )
        with pytest.raises(ValueError, match=r"several values of step as well: select one with"):
            wn.plot.end_norms(both)
        assert wn.plot.end_norms(both.isel(scale=0), x="step").get_xlabel() == "step size"

    def test_relative_norms_and_a_top(self, data):
        ax = wn.plot.end_norms(data, relative_to="minimum_norm", top=1.05)
        assert max(np.nanmax(line[:, 1]) for line in lines(ax).values() if line.size) < 1.2
        assert any(text.get_text() == "▲" for text in ax.texts)

    def test_what_cannot_be_drawn_is_refused(self, data):
        with pytest.raises(ValueError, match="must be a Dataset with the variable norm"):
            wn.plot.end_norms(data[["loss"]])
        with pytest.raises(
            ValueError, match="must be a Dataset with the variable norm, got a Data"
        ):
            wn.plot.end_norms(data.norm)
        with pytest.raises(ValueError, match="relative_to must be a coordinate"):
            wn.plot.end_norms(data, relative_to="size")
        assert "rPGD" in lines(wn.plot.end_norms(data.sel(algorithm="rpgd")))
        with pytest.raises(ValueError, match="x must be a dimension"):
            wn.plot.end_norms(data, x="colour")


class TestTrajectory:
    def test_a_run_and_its_invariant(self, problem):
        w0 = wn.datasets.random_direction(15, 0)
        run = wn.run(wn.RPGD(0.05, 0.05), problem, 5.0, w0, record=2)
        axes = wn.plot.trajectory({"rpgd": run})
        history = run.history
        np.testing.assert_allclose(lines(axes[0])["rPGD"], np.c_[history.step, history.loss])
        (invariant,) = [line for name, line in lines(axes[2]).items() if name.startswith("rPGD: ")]
        expected = wn.theory.invariant(history.direction_perp_norm, history.scale, 1.0)
        np.testing.assert_allclose(invariant[:, 1], expected)

    def test_a_flow_keeps_it(self, problem):
        flow = wn.flow(problem, 5.0, wn.datasets.random_direction(15, 0))
        axes = wn.plot.trajectory(flow)
        track = next(line for line in axes[2].get_lines() if len(line.get_xdata()) > 2)
        assert np.ptp(track.get_ydata()) < 1e-8
        assert axes[2].get_xlabel() == "time"

    def test_one_axes_is_parted(self, problem):
        w0 = wn.datasets.random_direction(15, 0)
        run = wn.run(wn.RPGD(0.05, 0.05), problem, 5.0, w0, record=2)
        figure, ax = plt.subplots()
        axes = wn.plot.trajectory(run, ax=ax)
        assert axes.shape == (3,)
        assert all(inner.figure is figure for inner in axes)

    def test_gradient_descent_has_none(self, problem):
        w0 = wn.datasets.random_direction(15, 0)
        axes = wn.plot.trajectory(wn.run(wn.GradientDescent(0.1), problem, 5.0, w0, record=1))
        assert any("none" in text.get_text() for text in axes[2].texts)

    def test_what_cannot_be_drawn_is_refused(self, problem):
        w0 = wn.datasets.random_direction(15, 0)
        run = wn.run(wn.RPGD(0.05, 0.05), problem, 5.0, w0)
        with pytest.raises(ValueError, match="has no history; run it with record=1"):
            wn.plot.trajectory(run)
        recorded = wn.run(wn.RPGD(0.05, 0.05), problem, 5.0, w0, record=1)
        with pytest.raises(ValueError, match="runs count steps and flows time"):
            wn.plot.trajectory({"a": recorded, "b": wn.flow(problem, 5.0, w0)})
        with pytest.raises(TypeError, match="results must be a Result with a history or a flow"):
            wn.plot.trajectory(3)
        with pytest.raises(ValueError, match="ax must be three axes"):
            wn.plot.trajectory(recorded, plt.subplots(2)[1])


class TestPhaseDiagram:
    def test_the_map_is_the_theory(self):
        data = phase_data(2.0, 0.5, [0.5, 3.0], [0.1, 4.0])
        problem = wn.LeastSquares([[1.0, 0.0]], [2.0])
        w0 = [np.sqrt(0.75), 0.5]
        for g0 in (0.5, 3.0):
            gd = wn.theory.gd_limit(problem, g0, w0)
            assert float(data.gd_distance.sel(scale=g0)) == pytest.approx(gd.distance)
            for c in (0.1, 4.0):
                limit = wn.theory.flow_limit(problem, g0, w0, c)
                printed = wn.theory.flow_limit_as_printed(problem, g0, w0, c)
                entry = data.sel(scale=g0, ratio=c)
                assert float(entry.distance) == pytest.approx(limit.distance, rel=1e-9)
                off = abs(printed.norm - limit.norm) / limit.norm
                assert float(entry.printed_error) == pytest.approx(off, rel=1e-6, abs=1e-12)

    def test_a_problem_and_a_pair_are_one(self, problem):
        w0 = wn.datasets.random_direction(15, 0)
        q0 = float(np.linalg.norm(problem.split(w0)[1]))
        options = {"scales": np.linspace(0, 10, 20), "ratios": np.geomspace(0.1, 100, 20)}
        maps = [
            wn.plot.phase_diagram(problem, direction=w0, **options),
            wn.plot.phase_diagram((7.5, q0), **options),
        ]
        arrays = [ax.collections[0].get_array() for ax in maps]
        np.testing.assert_allclose(arrays[0], arrays[1], rtol=1e-6)
        assert "‖x*‖ = 7.5" in maps[0].get_xlabel()
        assert wn.plot.phase_diagram(problem).get_ylabel() == "ratio of rates, c = γ/η"

    def test_regions_are_named_rightly(self):
        data = phase_data(3.0, 0.6**0.5, np.linspace(0, 5, 80), np.geomspace(0.05, 50, 80))
        ax = draw_phase(data)
        named = {text.get_text(): text.get_position() for text in ax.texts}
        assert len(named) == 2
        for text, (g0, c) in named.items():
            entry = data.sel(scale=g0, ratio=c, method="nearest")
            assert ("WN" in text) == bool(entry.distance < entry.gd_distance)

    def test_bad_input(self, problem):
        for bad, message in (
            ((0.0, 0.5), "greater than 0"),
            ((1.0, 2.0), "at most 1, got 2"),
            (wn.LeastSquares([[1.0, 0.0]], [0.0]), "y is zero"),
        ):
            with pytest.raises(ValueError, match=message):
                wn.plot.phase_diagram(bad)


class TestPath:
    def test_paths_lines_and_solutions(self):
        problem = wn.LeastSquares([[2.0, 1.0]], [1.5])
        start = {"scale": 0.8, "direction": [-0.3, 1.0]}
        run = wn.run(wn.GradientDescent(0.02), problem, **start, record=1, keep="weights")
        flow = wn.flow(problem, **start)
        ax = wn.plot.path(problem, {"gd": run, "flow": flow, "mine": [[0.0, 0.0], [1.0, 0.5]]})
        drawn = lines(ax)
        np.testing.assert_allclose(drawn["gradient descent"], run.history.weights)
        np.testing.assert_allclose(drawn["flow"], flow.weights)
        np.testing.assert_allclose(drawn["minimum norm"], [problem.min_norm_solution()])
        line = next(line for line in ax.get_lines() if type(line).__name__ == "AxLine")
        along = np.subtract(line.get_xy2(), line.get_xy1())
        assert abs(problem.A @ along).max() < 1e-12  # all of it fits y

    def test_one_weight_vector_fits(self):
        problem = wn.LeastSquares([[2.0, 1.0], [0.0, 1.0]], [1.5, 0.5])
        ax = wn.plot.path(problem, wn.flow(problem, 1.0, [1.0, 0.0]))
        assert not [line for line in ax.get_lines() if type(line).__name__ == "AxLine"]

    def test_bad_input(self, problem):
        with pytest.raises(ValueError, match="two weights, got one with 15"):
            wn.plot.path(problem, {})
        plane = wn.LeastSquares([[1.0, 0.0]], [1.0])
        with pytest.raises(ValueError, match="kept no weights; run it with record=1"):
            wn.plot.path(plane, wn.run(wn.GradientDescent(0.1), plane, 1.0, [1.0, 1.0]))
        with pytest.raises(ValueError, match=r"must have shape \(n, 2\)"):
            wn.plot.path(plane, {"a": [1.0, 2.0, 3.0]})
        with pytest.raises(ValueError, match="at least one path"):
            wn.plot.path(plane, {})


def test_colours_differ():
    """Between all named looks, and between algorithms that share a kind."""
    colours = [colour for colour, *_ in (*LOOKS.values(), *OTHERS)]
    assert len(set(colours)) >= 7
    found = looks(["gd", "rpgd", "two-phase", "other"], ["gd", "rpgd", "rpgd", "rpgd"])
    assert len(set(found.values())) == 4


def test_the_figures_are_drawn_by_it(monkeypatch):
    """`weightnorm reproduce` calls the public functions on the data it stores."""
    import importlib

    render = importlib.import_module("weightnorm_paper.figures.render")

    calls = []
    original = render.end_norms
    monkeypatch.setattr(
        render, "end_norms", lambda *a, **k: (calls.append(a[0]), original(*a, **k))[1]
    )
    named = {e.name: e for e in EXPERIMENTS}
    data = named["figure-1"].compute(Settings(seeds=2, quick=True)).data
    assert data.norm.dims == ("algorithm", "scale", "seed")
    assert {"loss", "status", "num_steps", "norm_mean", "norm_spread", "norm_limit"} <= set(data)
    pictures = render.render("norms", data)
    assert calls[0] is data
    assert pictures["png"][:4] == b"\x89PNG"


def test_without_matplotlib_it_says_what_to_install(monkeypatch, data):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"wn\.plot needs matplotlib: install weightnorm\[all\]"):
        wn.plot.end_norms(data)
