"""The figures beyond the paper: their numbers against plain NumPy, findings that can fail, their
part of the report.
"""

import numpy as np
import pytest

import weightnorm as wn
from weightnorm_paper.experiments import EXPERIMENTS, beyond, edges, ends
from weightnorm_paper.experiments.runs import Settings
from weightnorm_paper.figures import render
from weightnorm_paper.report.page import Section, write_report
from weightnorm_paper.report.reproduce import choose, tables_of

QUICK = Settings(seeds=2, quick=True)
BEYOND = [experiment for experiment in EXPERIMENTS if experiment.beyond]


@pytest.fixture(scope="module")
def results():
    return {experiment.name: experiment.compute(QUICK) for experiment in BEYOND}


def regression(condition_number):
    problem = wn.datasets.make_regression(20, 50, condition_number, 3.0, seed=0)
    return problem, wn.datasets.random_direction(50, 0)


def step(A, y, g, w, eta, gamma):
    """One step of rPGD, and the loss before it."""
    residual = g * (A @ w) - y
    pull = A.T @ residual
    turned = w - eta * g * pull
    return g - gamma * (w @ pull), turned / np.linalg.norm(turned), 0.5 * residual @ residual


def test_the_part_is_chosen_by_its_name():
    names = ["stability", "norms", "methods", "cycle", "decay"]
    assert [e.name for e in choose(["beyond"])] == [f"beyond-{name}" for name in names]
    assert [e.name for e in choose(["beyond-cycle"])] == ["beyond-cycle"]
    assert choose(["all"])[-5:] == BEYOND


def test_every_finding_holds(results):
    findings = [f for result in results.values() for f in result.findings]
    assert len(findings) == len({f.id for f in findings}) == 10
    assert [f.id for f in findings if not f.holds] == []


def test_captions_tell_strangers_what_the_letters_are():
    for experiment in BEYOND:
        assert len(experiment.caption) > 400
        assert "weights" in experiment.caption or "x = g·w" in experiment.caption
        assert "see docs" not in experiment.caption


def test_the_map_is_that_of_the_matrix_k(results):
    """K by its definition, on some of the steps; and two runs of the figure by a plain loop."""
    data = results["beyond-stability"].data
    problem, _ = regression(3.0)
    A, y, square = problem.A, problem.y, data.attrs["norm"] ** 2
    for i, j in np.random.default_rng(0).integers(0, data.sizes["direction_step"], (20, 2)):
        cell = data.isel(direction_step=i, scale_step=j)
        eta, gamma = float(cell.direction_step), float(cell.scale_step)
        K = eta * (square * A @ A.T - np.outer(y, y)) + gamma / square * np.outer(y, y)
        k = np.linalg.eigvalsh(K)
        assert float(cell.rate) == pytest.approx(np.abs(1.0 - k).max(), rel=1e-9)
        assert bool(cell.stable) == (k[-1] < 2.0)
    end = wn.theory.flow_limit(problem, 2.8, wn.datasets.random_direction(50, 0))
    nudge = np.random.default_rng(0).standard_normal(50)
    start = end.weights + 1e-6 * nudge / np.linalg.norm(nudge)
    for place in (0, 1, 14, 15):
        row = data.isel(run=place)
        g, w = float(np.linalg.norm(start)), start / np.linalg.norm(start)
        losses = []
        for _ in range(101):
            g, w, loss = step(A, y, g, w, float(row.run_direction_step), float(row.run_scale_step))
            losses.append(loss)
        assert np.sqrt(losses[-1] / losses[0]) == pytest.approx(float(row.run_grown), rel=1e-2)


def test_an_end_with_momentum_is_that_of_a_plain_loop(results):
    data = results["beyond-norms"].data
    problem, w = regression(1.5)
    row = int(np.flatnonzero((data.panel == "momentum") & (data.value == 0.9))[0])
    g, push, drive = 2.8, np.zeros(50), 0.0
    for _ in range(30_000):
        pull = problem.A.T @ (g * (problem.A @ w) - problem.y)
        push, drive = 0.9 * push + g * pull, 0.9 * drive + w @ pull
        turned = w - ends.MOMENTUM_STEP * push
        g, w = g - ends.MOMENTUM_STEP * drive, turned / np.linalg.norm(turned)
    entry = data.isel(point=row).sel(algorithm="rpgd")
    assert float(entry.norm_mean) == pytest.approx(abs(g), abs=1e-7)
    assert float(abs(entry.norm_mean - entry.predicted)) < float(entry.predicted_error)


def test_batch_norm_ends_at_its_formula(results):
    data = results["beyond-methods"].data
    problem, w0 = regression(1.5)
    inside, outside = problem.split(w0)
    expected = np.hypot(3.0, 3.0 / np.linalg.norm(inside) * np.linalg.norm(outside))
    assert data.norm_limit.sel(algorithm="bn").values == pytest.approx(expected, rel=1e-9)
    keeps = np.hypot(data.scale * np.linalg.norm(outside), 3.0)
    assert data.norm_limit.sel(algorithm="gd").values == pytest.approx(keeps.values, rel=1e-9)


def test_the_cycle_by_a_plain_loop(results):
    """Every fifth run of the figure, both steps."""
    data = results["beyond-cycle"].data
    problem, _ = regression(1.0)
    starts = edges._starts(problem, np.unique(data.run_cosine))
    assert np.linalg.norm(starts, axis=1) == pytest.approx(1.0)
    assert np.linalg.norm(problem.A @ starts.T, axis=0) == pytest.approx(edges.PARALLEL)
    for gamma in data.scale_step.values:
        for row in range(0, data.sizes["run"], 5):
            entry = data.sel(scale_step=gamma).isel(run=row)
            g = float(entry.run_scale)
            w = starts[np.argmin(np.abs(np.unique(data.run_cosine) - float(entry.run_cosine)))]
            for _ in range(400):
                g, w, loss = step(problem.A, problem.y, g, w, 1.0 / g**2, gamma)
            assert bool(entry.run_trapped) == (loss > 1e-3)
            assert bool(entry.run_converged) == (loss < 1e-12)
    assert results["beyond-cycle"].data.run_trapped.any()


def test_decay_by_a_plain_loop(results):
    data = results["beyond-decay"].data
    problem, w = regression(3.0)
    g, lam = 1.0, data.attrs["direction_decay"]
    for t in range(200):
        entry = data.sel(start_scale=1.0, step=t)
        size = np.linalg.norm(w)
        assert size**2 == pytest.approx(float(entry.direction_norm_squared), rel=1e-8)
        pull = problem.A.T @ (g * (problem.A @ w) / size - problem.y)
        along = w @ pull / size
        g, w = g - 0.1 * along, w - 0.1 * (g / size * (pull - along * w / size) + lam * w)
    q = data.direction_perp_norm.sel(start_scale=1.0)
    before, edge = q.sel(step=200), float(data.edge_step.sel(start_scale=1.0))
    assert float(q.sel(step=int(edge))) == pytest.approx(float(before), rel=0.05)  # it stands still
    assert float(q[-1]) < 0.3 * float(before)  # and is then forgotten
    told = data.predicted_perp_norm.sel(start_scale=2.8)
    assert not np.isfinite(told.sel(step=slice(0, edge * 0.9))).any()
    last = data.direction_perp_norm.sel(start_scale=2.8)[-1]
    assert float(told[-1]) == pytest.approx(float(last), rel=0.25)


def test_findings_fail_where_the_theory_does(monkeypatch):
    """A finding that cannot fail is none: each turns once its prediction is a little wrong."""
    true = beyond.stability

    def wrong_edge(problem, norm=None, eta=0.0, gamma=0.0, **options):
        return true(problem, norm, 0.9 * eta, 0.9 * gamma, **options)

    monkeypatch.setattr(beyond, "stability", wrong_edge)
    assert not any(f.holds for f in beyond.beyond_stability(QUICK).findings)
    told = ends.finite_step_limit
    monkeypatch.setattr(
        ends, "finite_step_limit", lambda *a, **k: told(*a, **k | {"momentum": 0.5})
    )
    assert not any(f.holds for f in ends.beyond_norms(QUICK).findings)
    flow, bn = ends.flow_limit, ends.batchnorm_limit
    monkeypatch.setattr(ends, "flow_limit", lambda p, g, w: flow(p, g, w, ratio=1.5))
    monkeypatch.setattr(ends, "batchnorm_limit", lambda p, g, w, grown=0.0: bn(p, g, w))
    assert not any(f.holds for f in ends.beyond_methods(QUICK).findings)
    cycle = edges.two_cycle
    monkeypatch.setattr(edges, "two_cycle", lambda p, g, w, s: cycle(p, 1.5 * g, w, s))
    assert not any(f.holds for f in edges.beyond_cycle(QUICK).findings)
    edge = edges.edge_time
    monkeypatch.setattr(edges, "edge_time", lambda p, e, s, d, *more: edge(p, e, s, 2 * d, *more))
    assert not edges.beyond_decay(QUICK).findings[0].holds


def test_tables_keep_maps_and_runs_apart(results):
    sizes = {name: tables_of(result.data) for name, result in results.items()}
    rows = {name: {s: t.count("\n") - 1 for s, t in each.items()} for name, each in sizes.items()}
    assert rows["beyond-stability"] == {"": 60 * 60, "-runs": 16}
    assert rows["beyond-cycle"] == {"": 2 * 41 * 41, "-runs": 2 * 49}
    assert rows["beyond-methods"] == {"": 4 * 7}


def test_pictures_and_the_part_of_the_report(results):
    sections = []
    for experiment in BEYOND[1:3]:
        pictures = render(experiment.kind, results[experiment.name].data)
        assert pictures["png"][:4] == b"\x89PNG"
        findings = results[experiment.name].findings
        about = (experiment.name, experiment.title, experiment.caption, pictures["png"])
        sections.append(Section(*about, "a,b\n", findings, beyond=True))
    paper = Section("figure-1", "Equal steps", "A caption.", b"", "", ())
    texts = {s.name: s.caption for s in (paper, *sections)}
    page = write_report([paper, *sections], None, {}, texts)
    order = ["figure-1", "beyond", "beyond-norms", "beyond-methods", "facts"]
    places = [page.index(f'id="{name}"') for name in order]
    assert places == sorted(places)
    contents = page[page.index("<nav") : page.index("</nav>")]
    assert [contents.index(f'"#{name}"') for name in order] == sorted(
        contents.index(f'"#{name}"') for name in order
    )
    assert "the theory says" in page
    assert "the paper says" not in page  # of findings: the one figure of the paper has none
    alone = write_report([paper], None, {}, texts)
    assert "Beyond the paper" not in alone
