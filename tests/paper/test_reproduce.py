"""The figures: their numbers against direct NumPy runs, the measured table, the report, the
command.
"""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import weightnorm as wn
from tests.support.commands import run
from tests.support.reference import assert_same_stop, reference_run
from weightnorm_paper.claims import CLAIMS
from weightnorm_paper.experiments import EXPERIMENTS
from weightnorm_paper.experiments.runs import Settings, run_seeds
from weightnorm_paper.report.reproduce import choose, reproduce

CERTIFIED = ("stationary", "flow-limit", "two-phase-b", "discrete-rpgd")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All figures, with a certificate of a few claims: test_certificate.py has every claim."""

    def few(**options):
        return wn.verify(only=CERTIFIED, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weightnorm_paper.report.reproduce.verify", few)
        return reproduce(["all"], tmp_path_factory.mktemp("out"), seeds=3, quick=True)


def test_sampled_points_equal_direct_numpy_runs():
    methods = {
        "gd": wn.GradientDescent(0.1),
        "wn": wn.WeightNorm(0.1, 0.1),
        "rpgd": wn.RPGD(0.1, 0.1),
    }
    data = run_seeds(methods, [0.5, 2.5, 4.0], seeds=2, condition_numbers=(1.0, 3.0))
    for kappa in (1.0, 3.0):
        for seed in range(2):
            problem = wn.datasets.make_regression(20, 50, kappa, 3.0, seed=seed)
            w0 = wn.datasets.random_direction(50, seed)
            for name in methods:
                for scale in (0.5, 4.0):
                    twin = reference_run(
                        name,
                        problem.A,
                        problem.y,
                        scale,
                        w0,
                        lambda *_: (0.1, 0.1),
                        tolerance=1e-5,
                        max_steps=10**6,
                    )
                    entry = data.sel(
                        {"algorithm": name, "seed": seed, "condition_number": kappa, "scale": scale}
                    )
                    assert float(entry.norm) == pytest.approx(
                        np.linalg.norm(twin["weights"]), rel=1e-8
                    )
                    assert_same_stop(
                        int(entry.num_steps),
                        float(entry.loss),
                        twin["num_steps"],
                        twin["loss"],
                        1e-5,
                    )


def test_the_means_agree_with_the_measured_table():
    """Figure 1 at g0 = 1, 2, 3, 4; one measured instance must be a likely draw from our seeds."""
    experiment = {e.name: e for e in EXPERIMENTS}["figure-1"]
    data = experiment.compute(Settings()).data
    at = {"scale": [1.0, 2.0, 3.0, 4.0], "method": "nearest"}
    for name, measured in {
        "gd": [3.0961, 3.3797, 3.8058, 4.3323],
        "wn": [2.9959, 3.0022, 3.2354, 4.0352],
        "rpgd": [2.9959, 3.0016, 3.2314, 4.0338],
    }.items():
        entry = data.sel(algorithm=name).sel(**at)
        off = np.abs(entry.norm_mean.values - measured)
        assert (off <= 2.5 * entry.norm_spread.values + 0.002).all(), name
    # the exact line lies on the runs
    assert float(abs(data.norm_limit - data.norm).sel(algorithm="rpgd").max()) < 0.03
    assert float(abs(data.norm_limit_mean - data.norm_mean).max()) < 0.02


@pytest.mark.long
def test_every_statement_about_the_figures_has_a_finding(made):
    found = {
        finding.id: finding.holds for result in made.results.values() for finding in result.findings
    }
    # Read off at the first step that converges, which sits at the edge of stability: rounding may
    # turn these.
    at_the_edge = {"figure-5-range", "figure-5-overlap", "figure-5-two-phase"}
    assert all(isinstance(found.pop(name), bool) for name in at_the_edge)
    assert found == {
        "figure-1-range": True,
        "figure-1-spread": True,
        "figure-1-overlap": True,
        "figure-3-top-difference": True,
        "figure-3-bottom-range": True,
        "figure-4-top-growth": False,
        "figure-4-bottom-robust": True,
        "figure-5-refined": True,
        "phase-diagram": False,
        "beyond-stability-side": True,
        "beyond-stability-rate": True,
        "beyond-norms-share": True,
        "beyond-norms-within": True,
        "beyond-methods-limits": True,
        "beyond-methods-batch-norm": True,
        "beyond-cycle-rule": True,
        "beyond-decay-edge": True,
        "beyond-decay-stays": True,
        "beyond-decay-forgets": True,
    }


@pytest.mark.long
def test_figure_2_has_the_flow_nearer_than_gradient_descent(made):
    """As the paper's picture has it: e nearer to c than d, b on the way to c, and g far away."""
    result = made.results["figure-2"]
    ends = {}
    for name in result.data.path.values:
        path = result.data.sel(path=name)
        points = np.column_stack([path.x1, path.x2])
        ends[str(name)] = points[np.isfinite(points).all(axis=1)][-1]
    off = {name: np.linalg.norm(end - [1.0, 0.0]) for name, end in ends.items()}
    assert off["two_phase"] < 1e-3 < off["slow_scale"] < 0.05 < off["flow"] < off["gd"] - 0.05
    assert off["gd"] < 1.0 < off["large_start"]
    problem, a = wn.LeastSquares([[1.0, 0.0]], [1.0]), np.array([-0.15, 0.9])
    size = float(np.linalg.norm(a))
    for name, predict in (("flow", wn.theory.flow_limit), ("gd", wn.theory.gd_limit)):
        assert off[name] == pytest.approx(predict(problem, size, a).distance, abs=1e-4)
    assert f"{off['flow']:.3f} (e) and {off['gd']:.3f} (d)" in result.remark


@pytest.mark.long
def test_figure_4_bottom_as_read_and_as_printed(made):
    """A plain loop with the printed steps ends where the drawn runs do, far above the minimum."""
    data, remark = made.results["figure-4-bottom"].data, made.results["figure-4-bottom"].remark
    for name in ("wn", "rpgd"):
        read, printed = data.sel(algorithm=name), data.sel(algorithm=name + "_printed")
        assert float(abs(read.norm_mean - 3.0).max()) < 0.05
        assert float(printed.norm_mean.min()) > 3.2
        problem = wn.datasets.make_regression(20, 50, 3.0, 3.0, seed=1)
        twin = reference_run(
            name,
            problem.A,
            problem.y,
            2.8,
            wn.datasets.random_direction(50, 1),
            lambda t, *_: (0.1 * (t > 5000), 1.0),
            tolerance=1e-5,
            max_steps=10**5,
        )
        entry = printed.sel(condition_number=3.0, seed=1, scale=2.8)
        assert float(entry.norm) == pytest.approx(np.linalg.norm(twin["weights"]), rel=1e-6)
    means = data.norm_mean.sel(algorithm=["wn_printed", "rpgd_printed"])
    assert f"{float(means.min()):.2f} to {float(means.max()):.2f} as they are printed" in remark


@pytest.mark.long
def test_what_the_runs_say_ends_the_caption(made):
    text = html.unescape(made.report.read_text(encoding="utf-8"))
    for experiment in EXPERIMENTS:
        remark = made.results[experiment.name].remark
        assert f"<figcaption>{experiment.caption} {remark}".strip() + "</figcaption>" in text


@pytest.mark.long
def test_figures_are_there_in_three_formats_with_their_data(made):
    folder = made.report.parent
    for experiment in EXPERIMENTS:
        for suffix in ("png", "svg", "pdf"):
            assert (folder / "figures" / f"{experiment.name}.{suffix}").stat().st_size > 5_000
        rows = (folder / "data" / f"{experiment.name}.csv").read_text(encoding="utf-8").splitlines()
        assert len(rows) > 2
        assert (folder / "data" / f"{experiment.name}.nc").exists()


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.images, self.links, self.scripts = [], [], 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "img":
            self.images.append(attributes)
        self.scripts += tag in ("script", "iframe", "link")
        self.links += (
            [attributes.get("href") or attributes.get("src") or ""] if tag in ("a", "img") else []
        )


@pytest.mark.long
def test_the_report_is_self_contained_and_accessible(made):
    text = made.report.read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert len(page.images) == len(EXPERIMENTS)
    assert all(len(image["alt"]) > 40 for image in page.images)
    assert page.scripts == 0
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert not re.search(r"https?://", text)
    assert 'lang="en"' in text
    for claim in ("flow-limit", "two-phase-b", "figure-4-top-growth"):
        assert claim in text
    assert "Every claim holds in its exact form" in text


@pytest.mark.long
def test_the_report_has_the_certificate_it_was_made_with(made):
    assert made.certificate.instances == 6
    assert tuple(line.claim.id for line in made.certificate.lines) == CERTIFIED
    text = html.unescape(made.report.read_text(encoding="utf-8"))
    for line in made.certificate.lines:
        assert f"<td>{line.claim.id}</td><td>{line.claim.paper}</td>" in text
        assert f"<td>{line.claim.exact}</td><td class=number>{line.comparisons}</td>" in text


@pytest.mark.slow
def test_a_whole_report_has_every_claim(tmp_path):
    made = reproduce(["all"], tmp_path, seeds=3, quick=True)
    assert [line.claim for line in made.certificate.lines] == list(CLAIMS)
    text = made.report.read_text(encoding="utf-8")
    assert "Every claim holds in its exact form" in text


def test_all_asks_for_every_claim(monkeypatch, tmp_path):
    """The certificate of a report leaves no claim out."""
    asked = []

    def remember(instances, seed=0, only=None, progress=None):
        asked.append((instances, only))
        return wn.verify(1, only=["gd-limit"])

    monkeypatch.setattr("weightnorm_paper.report.reproduce.verify", remember)
    monkeypatch.setattr("weightnorm_paper.report.reproduce.choose", lambda names: [])
    assert reproduce(["all"], tmp_path, seeds=1).certificate.ok
    assert asked == [(24, None)]


def test_choosing_figures():
    assert [e.name for e in choose(["figure-3"])] == ["figure-3-top", "figure-3-bottom"]
    assert len(choose(["all"])) == len(EXPERIMENTS)
    with pytest.raises(ValueError, match="'figure-9' is not a figure; choose from all, figure-1"):
        choose(["figure-9"])


def test_the_command(tmp_path):
    arguments = ["reproduce", "figure-1", "--quick", "--out", str(tmp_path / "out"), "--json"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [finding["id"] for finding in answer["findings"]] == [
        "figure-1-range",
        "figure-1-spread",
        "figure-1-overlap",
    ]
    wrong = run("reproduce", "figure-9")
    assert wrong.exit_code == 2
    assert "Traceback" not in wrong.output
