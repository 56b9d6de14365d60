"""The explorer under people's hands: dragged, clicked, typed at, played."""

import numpy as np
import pytest

from tests.browser.driving import drag, ends, rest, same_ends, state

STEPS = ["g", "a", "t", "eta", "gamma", "gd", "freeze", "beta", "noise", "steps"]


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
    page.evaluate(
        """() => { for (let i = 0; i < 3; i++) document.getElementById("plane").dispatchEvent(
             new KeyboardEvent("keydown", { key: "ArrowUp" })); }"""
    )
    rest(page)
    faster = page.evaluate("weightnorm.startAt2d[1]")  # than pictures are drawn: none is lost
    assert faster - after[1] == pytest.approx(0.15, abs=5e-3)


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


def test_ranges_do_not_run_away_under_the_hand(opened, file):
    page = opened(file, "#problem=made")
    box = page.locator("#phase").bounding_box()
    x, y = box["x"] + 0.93 * box["width"], box["y"] + 150
    wanted = page.evaluate(f"weightnorm.views.phase.back({x - box['x']}, 150)")[0]
    page.mouse.move(x, y)
    page.mouse.down()
    for i in range(8):
        page.mouse.move(x + i % 2, y)
        page.wait_for_timeout(30)
    page.mouse.up()
    rest(page)
    assert state(page)["g"] == pytest.approx(wanted, rel=0.02)
    slider = page.locator("#range-g").bounding_box()
    largest = 1.25 * state(page)["g"]
    page.mouse.move(slider["x"] + 0.9 * slider["width"], slider["y"] + 12)
    page.mouse.down()
    for i in range(8):
        page.mouse.move(slider["x"] + slider["width"] - i % 2, slider["y"] + 12)
        page.wait_for_timeout(30)
    page.mouse.up()
    rest(page)
    assert state(page)["g"] <= 1.01 * largest


def test_by_touch(opened, file):
    page = opened(file, size=(390, 844), has_touch=True, is_mobile=True)
    before = state(page)
    box = page.locator("#plane").bounding_box()
    page.touchscreen.tap(box["x"] + 0.5 * box["width"], box["y"] + 0.75 * box["height"])
    rest(page)
    assert state(page)["g"] != before["g"]
    page.locator("#curves").scroll_into_view_if_needed()
    box = page.locator("#curves").bounding_box()
    low = min(box["y"] + box["height"], 844) - 60  # the plane stays at the top of the window
    page.touchscreen.tap(box["x"] + 0.4 * box["width"], low)
    rest(page)
    assert 0 < state(page)["upto"] < 20000
