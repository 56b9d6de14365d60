"""What the explorer says, against weightnorm: numbers, predictions, outcomes, copied Python."""

import json
from pathlib import Path

import numpy as np
import pytest

import weightnorm as wn
from tests.browser.driving import drag, ends, rest, run_python, same_ends, state, wait_until
from tests.explorer import corners
from tests.explorer.golden import worst
from weightnorm.explorer.build import page as build_page
from weightnorm.explorer.describe import describe

GOLDEN = 1e-10
COMPUTE = (Path(corners.__file__).parent / "compute.js").read_text(encoding="utf-8")


def test_every_number_in_the_browser(opened, file):
    """The golden vectors through the page's own module."""
    page = opened(file)
    given = list(corners.all_cases())
    answers = page.evaluate(
        f"(given) => {{ {COMPUTE}; return given.map((one) => compute(weightnorm, one)); }}",
        json.loads(json.dumps(given)),
    )
    assert len(given) > 500
    for case, answer in zip(given, answers, strict=True):
        off = {k: v for k, v in worst(case["expected"], answer).items() if not v <= GOLDEN}
        assert not off, (case["what"], off)


def test_the_edge_of_stability_is_marked_where_theory_has_it(opened, file):
    page = opened(file, "#problem=made&k=3&g=1&eta=0.1&gamma=0.4")
    problem = wn.datasets.make_regression(20, 50, 3.0, 3.0, seed=0)
    direction = wn.datasets.random_direction(50, seed=0)
    norm = wn.theory.flow_limit(problem, 1.0, direction, ratio=4.0).norm
    exact = wn.theory.stability(problem, norm, 0.1, 0.4)
    edges = page.evaluate("weightnorm.scene.edges")
    assert edges["eta"] == pytest.approx(exact.max_direction_step, rel=1e-9)
    assert edges["gamma"] == pytest.approx(exact.max_scale_step, rel=1e-9)
    assert edges["bracket"] == pytest.approx(wn.theory.norm_bracket(problem, 0.1, 0.4), rel=1e-9)
    assert f"{exact.max_direction_step:.3g}"[:4] in page.inner_text("#hint-eta")
    assert page.locator('[data-key="eta"] .edge').is_visible()
    # a slider beyond it says so, and rPGD does not settle
    page.fill("#number-eta", str(1.3 * exact.max_direction_step))
    page.press("#number-eta", "Enter")
    rest(page)
    assert "beyond the edge" in page.inner_text("#hint-eta")


def test_the_tour(opened, file):
    page = opened(file)
    titles = []
    for number in range(1, 7):
        page.click("#tour-next")
        rest(page)
        titles.append(page.inner_text("#tour-title"))
        assert state(page)["tour"] == number
        # rPGD beyond the edge goes round in circles: there only its status is said
        settles = ("gd", "wn") if number == 5 else ("gd", "wn", "rpgd")
        found = same_ends(page, settles=settles)
        if number == 1:
            assert found["gd"]["distance"] == pytest.approx(found["gdLimit"], rel=1e-8)
            assert f"{found['gd']['distance']:.3g}" in page.inner_text("#tour-text")
        if number == 2:
            assert found["wn"]["distance"] < 0.2 * found["gd"]["distance"]
        if number == 3:
            assert found["wn"]["distance"] > 2 * found["gd"]["distance"]
        if number == 4:
            assert found["wn"]["distance"] < 0.02
        if number == 5:
            assert found["rpgd"]["status"] == "max_steps"
            assert found["wn"]["status"] == "converged"
        if number == 6:
            printed = page.evaluate("weightnorm.scene.printed.distance")
            assert printed > 5 * found["wn"]["distance"]
    assert len(set(titles)) == 6
    page.click("#tour-back")
    rest(page)
    assert state(page)["tour"] == 5


STATES = [
    "#problem=plane&g=0.5&a=90&eta=0.05&gamma=0.05",
    "#problem=plane&g=0.5&a=40&t=180&eta=0.02&gamma=0.002",  # the scale passes through zero
    "#problem=plane&g=-0.8&a=-50&eta=0.05&gamma=0.01&gd=0.5",
    "#problem=made&m=5&d=9&k=4&n=2&seed=7&g=1.5&eta=0.05&gamma=0.02&beta=0.9&nesterov=1",
    "#problem=made&m=3&d=400&k=2&seed=1&g=4&eta=0.01&gamma=0.02&beta=0.5",
    "#problem=made&m=6&d=6&k=2&seed=1&g=1&t=120",  # nothing unseen
    "#problem=made&m=1&d=3&seed=5&g=2&a=30&t=0",
    "#problem=made&m=1&d=1&seed=5&g=2",
    "#problem=made&k=5&g=2&freeze=150&steps=2000",
    "#problem=made&k=2&g=0&freeze=20&steps=3000",
    "#problem=made&k=2&g=2&noise=0.02&steps=1500",
    "#problem=plane&g=0.5&noise=0.05&steps=800",
]


PREDICTIONS = {
    # noise with momentum, without anything unseen, with unstable steps: not known
    "#problem=plane&g=1.2&a=60&eta=0.01&beta=0.5&noise=0.3": ("noise", [False, False, False, True]),
    "#problem=plane&g=0.5&a=0&noise=0.1": ("noise", [False, False, False, True]),
    "#problem=made&g=2&noise=0.1&eta=0.3": ("unstable", [False, False, False, True]),
    # WN ends on the other side of the flow's end; rPGD's own steps settle on the flow's
    "#problem=plane&g=0.9&a=10&t=180&eta=0.042&gamma=0.0096": ("side", [True, False, True, True]),
    "#problem=plane&freeze=20000": ("frozen", [True, False, False, True]),
    # all seen: the end is x*, whatever sign the scale has
    "#problem=made&m=3&d=3&k=10&seed=752&g=30&a=0&t=150&eta=0.0001&gamma=0.00001": (
        "small",
        [True] * 4,
    ),
    "#problem=made&g=2": ("first order", [True, True, True, True]),
    "#problem=made&k=20&g=2": ("small", [True, True, True, True]),
    "#problem=plane&g=20": ("unstable", [True, False, False, True]),
    "#problem=plane&beta=0.99": ("large", [True, False, False, True]),
    "#problem=plane&gd=2.5": ("first order", [False, True, True, True]),
    "#problem=plane&g=0&a=90": ("stuck", [True, False, False, False]),
    "#problem=plane&noise=0.1": ("noise", [False, False, True, True]),
    "#problem=made&m=6&d=6&noise=0.1": ("noise", [False, False, False, True]),
}


@pytest.mark.parametrize("hash_", PREDICTIONS)
def test_nothing_is_predicted_that_the_theory_does_not_say(opened, file, hash_):
    page = opened(file, hash_)
    rest(page)
    why, known = PREDICTIONS[hash_]
    assert ends(page)["why"] == why
    column = page.locator("#ends-rows td:last-child").all_inner_texts()
    assert [text != "–" for text in column] == known
    runs = page.evaluate("weightnorm.scene.runs")
    distances = [
        page.evaluate(f"weightnorm.distanceOf(weightnorm.scene.runs.{n}, weightnorm.scene.problem)")
        for n in runs
    ]
    for name, text, distance in zip(runs, column, distances, strict=True):
        if text != "–" and runs[name]["status"] == "converged" and why in ("first order", "side"):
            shown = page.evaluate(f"weightnorm.scene.predicted.{name}")
            assert distance == pytest.approx(shown["distance"], rel=0.05, abs=1e-8), name
            assert runs[name]["weights"][-1] == pytest.approx(
                shown["unseen"], rel=0.05, abs=1e-8
            ), name


def test_a_start_in_s_rests_there(opened, file):
    page = opened(file, "#problem=plane&g=0&a=90")
    rest(page)
    outcomes = page.locator("#ends-rows td:nth-child(2)").all_inner_texts()
    assert outcomes[1:] == ["rests in S"] * 3
    assert page.locator("#ends-rows td:nth-child(3)").all_inner_texts()[1:] == ["1"] * 3


OUTCOMES = {
    "#problem=made&g=2&eta=0.3&gamma=0.05": (2, "cycles"),  # in a direction that is not shown
    "#problem=plane&g=0.3333&a=0&t=180&eta=9&gamma=0.5": (2, "cycles"),  # g and w turn, x stays
    "#problem=plane&gd=1.9999": (0, "still moving, 20,000"),  # slow, but stable
    "#problem=plane&gd=2.5": (0, "diverged, step "),
    "#problem=plane&freeze=20000": (1, "scale frozen"),
    "#problem=plane&eta=1e-18&gamma=1e-18&gd=1e-18": (1, "still moving, 20,000"),
    "#problem=made&g=2&noise=0.1": (1, "noisy, step 20,000"),
}


@pytest.mark.parametrize("hash_", OUTCOMES)
def test_what_became_of_a_run_is_said_rightly(opened, file, hash_):
    page = opened(file, hash_)
    row, words = OUTCOMES[hash_]
    assert page.locator("#ends-rows td:nth-child(2)").all_inner_texts()[row].startswith(words)


def test_the_ratio_asked_for_is_kept(opened, own_problem, tmp_path):
    ratio = 0.0123456789 * float(np.sum(own_problem.min_norm_solution() ** 2))
    page = opened(wn.explore(own_problem, tmp_path / "page.html", ratio=ratio))
    assert page.evaluate("weightnorm.scene.ratio") == pytest.approx(ratio, rel=1e-14)


def test_a_sentence_of_the_tour_goes_when_it_is_no_longer_true(opened, file):
    page = opened(file)
    page.click("text=Start the tour")
    rest(page)
    drag(page, 20, -30)
    assert page.inner_text("#tour-title").startswith("1.")  # it holds wherever the start is
    for number, key, value in [
        (3, "gamma", "0.001"),
        (4, "freeze", "0"),
        (5, "eta", "0.02"),
        (6, "g", "0.5"),
    ]:
        page.click(f"#tour-steps button:nth-child({number})")
        rest(page)
        assert page.inner_text("#tour-title").startswith(f"{number}.")
        page.fill(f"#number-{key}", value)
        page.press(f"#number-{key}", "Enter")
        rest(page)
        assert page.inner_text("#tour-title") == f"You have left step {number}"


@pytest.mark.parametrize("hash_", STATES)
def test_copied_python_ends_where_the_page_does(opened, file, hash_):
    page = opened(file, hash_)
    rest(page)
    same_ends(page)


@pytest.mark.parametrize("hash_", STATES[1:11:3])
def test_a_permalink_is_the_whole_state(opened, file, hash_):
    page = opened(file, hash_)
    drag(page, 15, 25, moves=3)
    before, shown = state(page), ends(page)
    address = page.evaluate("location.hash")
    page.reload()
    wait_until(page, "window.weightnorm !== undefined")
    assert state(page) == before
    assert ends(page) == shown
    assert ends(opened(file, address)) == shown
    page.click("#copy-link")
    wait_until(page, "document.querySelector('#taken').innerText.startsWith('The link')")


@pytest.mark.parametrize(
    "hash_",
    [
        "#", "#problem=nonsense&g=abc", "#problem=data", "#g=1e999&eta=-1&steps=0&seed=1.5&m=999",
        "#problem=made&m=%E0%A4%A&shown=&theme=pink&tour=77", "#%%%&=&===",
    ],
)  # fmt: skip
def test_nonsense_in_an_address_is_left_out(opened, file, hash_):
    page = opened(file, hash_)
    now = state(page)
    assert np.isfinite([now["g"], now["eta"], now["gamma"]]).all()
    assert now["steps"] == 20000


def test_data_of_the_users_own(opened, own_file, own_problem):
    page = opened(own_file)
    rest(page)
    begun = state(page)
    assert begun["problem"] == "data"
    assert "your problem" in page.inner_text("#problem-note")
    found = same_ends(page)
    # and the same on the problem itself, in its 30 coordinates
    now = state(page)
    start = {"scale": now["g"], "direction": wn.datasets.random_direction(30, seed=0)}
    stop = {"tolerance": 1e-20 * own_problem.zero_loss, "max_steps": 20_000}
    run = wn.run(wn.WeightNorm(now["eta"], now["gamma"]), own_problem, **start, **stop)
    assert run.norm == pytest.approx(found["wn"]["norm"], rel=1e-9)
    limit = wn.theory.flow_limit(own_problem, **start, ratio=now["gamma"] / now["eta"])
    assert limit.distance == pytest.approx(found["limit"], rel=1e-9)
    drag(page, -30, -40)
    same_ends(page)
    page.click("text=Start the tour")
    rest(page)
    assert state(page)["problem"] == "made"
    page.click("#back-to-data")
    rest(page)
    assert state(page) == begun
    assert not page.locator("#back-to-data").is_visible()


def test_a_name_is_only_a_name(opened, own_problem, tmp_path):
    """Column and file names reach the page, and a comment of the code that people run."""
    name = 'y</script><b>"\nraise SystemExit\u2028raise SystemExit\r\x0braise SystemExit'
    path = tmp_path / "page.html"
    path.write_text(build_page(describe(own_problem, name=name)), encoding="utf-8")
    page = opened(path)
    assert "<b>" in page.inner_text("#problem-note")
    assert page.locator("#problem-note b").count() == 0
    names, _ = run_python(page)
    assert set(names["runs"]) == {"gd", "wn", "rpgd"}


def test_a_problem_from_the_form(opened, file):
    page = opened(file)
    page.select_option("#problem-kind", "made")
    for key, value in {"m": 4, "d": 12, "k": 6, "n": 2, "seed": 42}.items():
        page.fill(f"#made-{key}", str(value))
        page.press(f"#made-{key}", "Enter")
        rest(page)
    now = state(page)
    assert [now[key] for key in ("m", "d", "k", "n", "seed")] == [4, 12, 6, 2, 42]
    names, printed = run_python(page)
    expected = wn.datasets.make_regression(4, 12, 6.0, 2.0, seed=42)
    assert np.array_equal(names["problem"].A, expected.A)
    assert "predicted" in printed
    page.fill("#made-m", "3.5")
    page.press("#made-m", "Enter")
    rest(page)
    assert state(page)["m"] == 4
