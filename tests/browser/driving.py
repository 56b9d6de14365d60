"""What tests do to the explorer's page, and what they read from it."""

import io
import json
from contextlib import redirect_stdout

import matplotlib

matplotlib.use("Agg")
AGREE = 1e-9  # of what one sees at the end of a run and what the copied Python finds


def state(page):
    return json.loads(page.evaluate("JSON.stringify(weightnorm.state)"))


def wait_until(frame, expression):
    """Wait until an expression is true in a page or a frame; 10 seconds at most.

    Playwright's own `wait_for_function` evaluates text in the page where the expression is not true
    at once, and the page's Content Security Policy forbids that.
    """
    for _ in range(500):
        if frame.evaluate(expression):
            return
        frame.wait_for_timeout(20)
    raise AssertionError(f"not true within 10 seconds: {expression}")


def rest(page):
    """Wait until everything is drawn in full and the address is up to date."""
    page.wait_for_timeout(40)
    wait_until(page, "weightnorm.settled")


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
    exact = 1e-8 if "thaw" in names else AGREE
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
