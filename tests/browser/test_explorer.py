"""The explorer as people use it: dragged, clicked, typed at, reloaded, copied out and run."""

import io
import json
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

import weightnorm as wn
from weightnorm.explorer.build import page as build_page
from weightnorm.explorer.describe import describe

sys.path.insert(0, str(Path(__file__).parents[1] / "explorer"))
from corners import all_cases
from golden import worst

matplotlib.use("Agg")
GOLDEN = 1e-10
AGREE = 1e-9  # of what one sees at the end of a run and what the copied Python finds
COMPUTE = (Path(__file__).parents[1] / "explorer" / "compute.js").read_text(encoding="utf-8")
LARGEST_FILE = 400_000  # bytes
STEPS = ["g", "a", "t", "eta", "gamma", "gd", "freeze", "beta", "noise", "steps"]


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """The page with the problems it has built in."""
    return wn.explore(path=tmp_path_factory.mktemp("explorer") / "page.html")


@pytest.fixture(scope="session")
def own_problem():
    rng = np.random.default_rng(3)
    A, y = 1e3 * rng.standard_normal((8, 30)), 5.0 + rng.standard_normal(8)
    return wn.LeastSquares(A, y)


@pytest.fixture(scope="session")
def own_file(own_problem, tmp_path_factory):
    """The page with a problem of the user's own."""
    return wn.explore(own_problem, tmp_path_factory.mktemp("own") / "page.html")


def state(page):
    return json.loads(page.evaluate("JSON.stringify(weightnorm.state)"))


def rest(page):
    """Wait until everything is drawn in full and the address is up to date."""
    page.wait_for_timeout(350)


def ends(page):
    """What the page shows: status, steps, norm and weights of every run, and the predictions."""
    return page.evaluate(
        """() => {
          const { runs, limits, problem } = weightnorm.scene;
          const of = (run) => ({ status: run.status, steps: run.steps, norm: run.norm,
            distance: weightnorm.distanceOf(run, problem) });
          return { gd: of(runs.gd), wn: of(runs.wn), rpgd: of(runs.rpgd),
            limit: limits.flow.distance, gdLimit: limits.gd.distance, gstar: problem.gstar,
            why: weightnorm.scene.predicted.why };
        }"""
    )


def run_python(page):
    """Press "Copy as Python", and run what is shown there."""
    page.click("#show-python")
    code = page.input_value("#python-code")
    page.click("#close-python")
    names = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "copied", "exec"), names)
    matplotlib.pyplot.close("all")
    return names, printed.getvalue()


def same_ends(page, *, settles=("gd", "wn", "rpgd")):
    """The copied Python ends where the page does, run by run and predicted."""
    found = ends(page)
    names, _ = run_python(page)
    size = max(found["gstar"], *(found[name]["norm"] for name in settles))
    for name in settles:
        run = names["runs"][name]
        assert run.status.value == found[name]["status"], name
        assert abs(run.num_steps - found[name]["steps"]) <= 1, name
        assert abs(run.norm - found[name]["norm"]) <= AGREE * size, name
        assert abs(run.distance - found[name]["distance"]) <= AGREE * size, name
    # with a freeze the page follows the flow to nine digits until the thaw
    exact = 1e-6 if "thaw" in names else AGREE
    assert abs(names["limit"].distance - found["limit"]) <= exact * size
    assert abs(names["gd_limit"].distance - found["gdLimit"]) <= AGREE * size
    return found


def drag(page, dx, dy, moves=12):
    """Take hold of the start and move it."""
    canvas = page.locator("#plane").bounding_box()
    x, y = page.evaluate(
        "() => { const [x, y] = weightnorm.startAt2d; const v = weightnorm.views.plane;"
        " return [v.x(x), v.y(y)]; }"
    )
    page.mouse.move(canvas["x"] + x, canvas["y"] + y)
    page.mouse.down()
    for i in range(1, moves + 1):
        page.mouse.move(canvas["x"] + x + dx * i / moves, canvas["y"] + y + dy * i / moves)
        page.wait_for_timeout(20)
    page.mouse.up()
    rest(page)


def test_every_number_in_the_browser(opened, file):
    """The golden vectors through the page's own module."""
    page = opened(file)
    given = list(all_cases())
    answers = page.evaluate(
        f"(given) => {{ {COMPUTE}; return given.map((one) => compute(weightnorm, one)); }}",
        json.loads(json.dumps(given)),
    )
    assert len(given) > 500
    for case, answer in zip(given, answers, strict=True):
        off = {k: v for k, v in worst(case["expected"], answer).items() if not v <= GOLDEN}
        assert not off, (case["what"], off)


def test_one_file_without_a_network(opened, file, measured):
    """The fixture sees every request; here is the size, and when the first picture stood."""
    size = file.stat().st_size
    assert size < LARGEST_FILE
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']https?:""", text)
    page = opened(file)
    first = page.evaluate("weightnorm.firstPicture")
    measured(f"the page has {size:,} bytes; first picture after {first:.0f} ms")
    assert 0 < first < 60_000


def test_drag_the_start(opened, file):
    page = opened(file)
    before = state(page)
    drag(page, 60, -90)
    after = state(page)
    assert after["g"] > before["g"]
    assert (after["a"], after["t"]) != (before["a"], before["t"])
    same_ends(page)
    # gradient descent keeps what it cannot see: up by as much as the start went up
    up = page.evaluate("weightnorm.startAt2d[1]")
    assert ends(page)["gd"]["distance"] == pytest.approx(abs(up), rel=1e-8)


def test_a_click_moves_the_start_and_arrows_too(opened, file):
    page = opened(file)
    page.click("#plane", position={"x": 200, "y": 100})
    rest(page)
    moved = state(page)
    assert moved != state(opened(file))
    page.focus("#plane")
    before = page.evaluate("weightnorm.startAt2d")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowRight")
    rest(page)
    after = page.evaluate("weightnorm.startAt2d")
    assert after[0] - before[0] == pytest.approx(0.25, abs=2e-3)
    assert after[1] - before[1] == pytest.approx(0.05, abs=2e-3)


def test_the_phase_diagram_moves_scale_and_ratio(opened, file):
    page = opened(file, "#problem=made")
    page.click("#phase", position={"x": 120, "y": 60})
    rest(page)
    wanted = page.evaluate("weightnorm.views.phase.back(120, 60)")
    now = state(page)
    assert now["g"] == pytest.approx(wanted[0], rel=1e-3)
    assert now["gamma"] / now["eta"] == pytest.approx(wanted[1], rel=1e-2)
    page.focus("#phase")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    rest(page)
    assert state(page)["g"] > now["g"]
    assert state(page)["gamma"] < now["gamma"]


@pytest.mark.parametrize("key", STEPS)
def test_every_slider_by_keyboard_and_by_number(opened, file, key):
    page = opened(file, "#problem=made&k=3")
    if key in ("beta", "noise", "steps"):
        page.click("#more summary")
    range_, number = page.locator(f"#range-{key}"), page.locator(f"#number-{key}")
    seen = [state(page)[key]]
    range_.focus()
    for press in ("Home", "End", "ArrowLeft"):
        page.keyboard.press(press)
        rest(page)
        seen.append(state(page)[key])
    if key != "steps":
        assert len(set(seen)) >= 3
    assert seen[1] < seen[3] < seen[2] or key == "freeze"
    wanted = {"freeze": 250, "steps": 300, "beta": 0.5, "a": -20, "t": 33, "g": 1.25}.get(key, 0.07)
    number.fill(str(wanted))
    number.press("Enter")
    rest(page)
    assert state(page)[key] == wanted
    assert page.locator(f"#range-{key}").get_attribute("aria-valuetext").startswith(str(wanted)[:3])
    number.fill("1e300")
    number.press("Enter")
    rest(page)
    assert state(page)[key] == wanted  # refused, and shown as it is
    number.blur()
    rest(page)
    assert float(number.input_value()) == pytest.approx(wanted)


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
    # WN would end on the other side of the flow's end
    "#problem=plane&g=0.9&a=10&t=180&eta=0.042&gamma=0.0096": ("side", [True, False, False, True]),
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
        if text != "–" and runs[name]["status"] == "converged" and why == "first order":
            shown = page.evaluate(f"weightnorm.scene.predicted.{name}.distance")
            assert distance == pytest.approx(shown, rel=0.05, abs=1e-8), name


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


def test_fewer_steps_and_back(opened, file):
    page = opened(file)
    page.click("#more summary")
    for value in ("10", "20000"):
        page.fill("#number-steps", value)
        page.press("#number-steps", "Enter")
        rest(page)
        assert state(page)["upto"] == int(value)


def test_another_condition_keeps_the_steps(opened, file):
    page = opened(file, "#problem=made&g=1&eta=0.01&freeze=100&beta=0.5&n=3")
    page.fill("#made-k", "10")
    page.press("#made-k", "Enter")
    page.fill("#made-n", "6")
    page.press("#made-n", "Enter")
    rest(page)
    now = state(page)
    assert (now["k"], now["g"], now["eta"], now["freeze"], now["beta"]) == (10, 2, 0.0025, 100, 0.5)


def test_what_is_refused_is_said(opened, file):
    page = opened(file, "#problem=made")
    page.fill("#made-m", "60")
    page.press("#made-m", "Enter")
    rest(page)
    assert page.inner_text("#refused") == "60 is not possible here: from 1 to 20, whole."
    assert page.input_value("#made-m") == "20"
    other = opened(file, "#problem=data&g=2")
    assert "not in this page" in other.inner_text("#refused")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_number_of_the_table_is_cut(opened, file, width):
    page = opened(file, size=(width, 800))
    for number in range(1, 7):
        page.click(f"#tour-steps button:nth-child({number})")
        rest(page)
        assert page.evaluate(
            "(() => { const box = document.querySelector('.scroll');"
            " return box.scrollWidth <= box.clientWidth; })()"
        ), number


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
    page.wait_for_function("window.weightnorm !== undefined")
    assert state(page) == before
    assert ends(page) == shown
    assert ends(opened(file, address)) == shown
    page.click("#copy-link")
    assert page.inner_text("#taken").startswith("The link")


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
    assert state(page)["problem"] == "data"
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
    assert state(page)["problem"] == "data"
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


def test_pictures_to_take_away(opened, file):
    page = opened(file, "#problem=made&g=2")
    for view in ("plane", "phase", "curves"):
        page.select_option("#export-view", view)
        with page.expect_download() as svg:
            page.click("#export-svg")
        root = ElementTree.fromstring(Path(svg.value.path()).read_text(encoding="utf-8"))
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 20
        with page.expect_download() as png:
            page.click("#export-png")
        assert png.value.suggested_filename == f"weightnorm-{view}.png"
        assert Path(png.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_methods_can_be_hidden(opened, file):
    page = opened(file)
    before = page.locator("#plane").screenshot()
    page.uncheck('#ends-rows input[value="gd"]')
    rest(page)
    assert state(page)["shown"] == "wn.rpgd.flow"
    assert page.locator("#plane").screenshot() != before


def test_playing_and_standing_still(opened, file):
    page = opened(file, "#problem=made&g=2")
    page.click("#play")
    page.wait_for_timeout(600)
    assert 0 < state(page)["upto"] < 20000
    assert page.inner_text("#play") == "Stop"
    page.click("#play")
    calm = opened(file, "#problem=made&g=2&upto=30", reduced_motion="reduce")
    calm.click("#play")
    rest(calm)
    assert state(calm)["upto"] == 20000
    assert calm.inner_text("#play") == "Play"


def test_the_thaw_is_dragged_and_a_moment_is_chosen_on_the_curves(opened, file):
    page = opened(file, "#problem=made&g=2.8&freeze=400")
    page.locator("#curves").scroll_into_view_if_needed()
    box = page.locator("#curves").bounding_box()
    # the line of the thaw stands where a panel's logarithmic axis has step 400
    end = page.evaluate(
        "Math.max(...['gd', 'wn', 'rpgd'].map((n) => weightnorm.scene.runs[n].steps))"
    )
    first, length = box["x"] + 44, box["width"] / 4 - 54
    x = first + length * np.log(401) / np.log(end + 1)
    page.mouse.move(x, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(x - 30, box["y"] + 80, steps=5)
    page.mouse.up()
    rest(page)
    assert 20 < state(page)["freeze"] < 399
    assert state(page)["upto"] == 20000
    page.mouse.click(first + 0.3 * length, box["y"] + 80)
    rest(page)
    assert 1 <= state(page)["upto"] < 100


def test_by_touch(opened, file):
    page = opened(file, size=(390, 844), has_touch=True, is_mobile=True)
    before = state(page)
    box = page.locator("#plane").bounding_box()
    page.touchscreen.tap(box["x"] + 0.5 * box["width"], box["y"] + 0.75 * box["height"])
    rest(page)
    assert state(page)["g"] != before["g"]


@pytest.mark.parametrize("width", [320, 390, 800, 1200, 1600])
def test_no_page_scrolls_sideways(opened, file, width):
    page = opened(file, "#problem=made&tour=3&g=1&eta=0.01&gamma=0.3", size=(width, 900))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("hash_", ["", "#problem=made&tour=5&g=2&eta=0.3", "#embed=1"])
@pytest.mark.parametrize(("scheme", "size"), [("light", (1400, 1000)), ("dark", (390, 844))])
def test_nothing_keeps_people_out(opened, file, hash_, scheme, size):
    """axe-core finds no serious fault, with everything opened."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(file, hash_, size=size, color_scheme=scheme)
    if page.locator("#more summary").is_visible():
        page.click("#more summary")
    found = [
        v for v in axe.run(page).response["violations"] if v["impact"] in ("serious", "critical")
    ]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []
    if page.locator("#show-python").is_visible():
        page.click("#show-python")
        found = axe.run(page).response["violations"]
        assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


def test_what_is_announced(opened, file):
    page = opened(file, "#problem=made&g=2")
    rest(page)
    said = page.text_content("#announce")
    assert "weight normalization: arrived" in said
    assert "predicted" in said
    assert page.locator("#announce").get_attribute("aria-live") == "polite"


def test_the_theme_follows_the_choice_and_the_page_around_it(opened, file):
    page = opened(file)
    paper = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    light = page.evaluate(paper)
    page.select_option("#theme", "dark")
    assert page.evaluate(paper) != light
    rest(page)
    assert "theme=dark" in page.evaluate("location.hash")
    other = opened(file)
    other.evaluate("window.postMessage({ weightnormTheme: 'dark' }, '*')")
    other.wait_for_timeout(100)
    assert other.evaluate(paper) != light


@pytest.mark.parametrize(
    ("name", "hash_"),
    [
        ("rank 1", "#problem=plane&eta=1e-4&gamma=1e-5&gd=1e-4"),
        ("rank 2", "#problem=made&m=2&d=5&k=3&eta=2e-5&gamma=2e-5&gd=1e-4"),
        ("rank 20", "#problem=made&m=20&d=50&k=30&eta=2e-5&gamma=2e-5&gd=1e-4"),
    ],
)
def test_frames_while_dragging(opened, file, measured, name, hash_):
    """Steps so small that no method arrives: all make 20,000 steps in every frame."""
    page = opened(file, hash_)
    drag(page, 60, 60, moves=40)  # warm: code is compiled while it runs
    page.evaluate("weightnorm.frameTimes.length = 0")
    drag(page, -60, -60, moves=120)
    times = np.array(page.evaluate("weightnorm.frameTimes"))
    steps = page.evaluate("Object.values(weightnorm.scene.runs).map((run) => run.steps)")[:3]
    assert steps == [20000] * 3
    assert times.size >= 50
    share = float((times < 50.0).mean())
    measured(
        f"{name}: {share:.1%} of {times.size} drag frames under 50 ms; median "
        f"{np.median(times):.1f} ms, 95 % under {np.quantile(times, 0.95):.1f} ms"
    )
