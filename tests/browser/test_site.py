"""The built site in a browser: the explorer in its frames, and the search; `make docs` first."""

from pathlib import Path

import pytest

from tests.browser.driving import wait_until

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAPER = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"

pytestmark = pytest.mark.skipif(
    not (SITE / "_static" / "explorer.html").exists(), reason="needs the site: make docs"
)


def explorer_in(page):
    """The explorer's frame, once it has drawn."""
    page.locator("iframe.explorer").scroll_into_view_if_needed()
    frame = next(frame for frame in page.frames if "_static/explorer.html" in frame.url)
    wait_until(frame, "window.weightnorm !== undefined")
    return frame


@pytest.mark.parametrize(
    ("name", "kind"), [("explanation/forgetting", "plane"), ("guides/explorer", "made")]
)
@pytest.mark.parametrize("width", [1400, 390])
def test_the_explorer_stands_in_the_page(browsed, name, kind, width):
    page = browsed(SITE / f"{name}.html", size=(width, 900))
    frame = explorer_in(page)
    assert frame.evaluate("[weightnorm.state.problem, weightnorm.state.embed]") == [kind, 1]
    before = frame.evaluate("weightnorm.state.g")
    frame.focus("#plane")
    page.keyboard.press("ArrowUp")
    page.wait_for_timeout(300)
    assert frame.evaluate("weightnorm.state.g") > before
    assert not frame.locator("#tour").is_visible()
    inside = frame.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert inside[0] <= inside[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_has_the_theme_of_the_page_around_it(browsed):
    page = browsed(SITE / "explanation" / "forgetting.html", color_scheme="light")
    frame = explorer_in(page)
    light = frame.evaluate(PAPER)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(200)
    assert frame.evaluate(PAPER) != light


def test_the_whole_explorer_is_a_link_away(browsed):
    page = browsed(SITE / "guides" / "explorer.html")
    page.click("text=Open the explorer")
    wait_until(page, "window.weightnorm !== undefined")
    assert page.locator("#tour").is_visible()


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("step size", "guides/steps.html"),
        ("two phases", "guides/plan.html"),
        ("explorer", "guides/explorer.html"),
        ("larger than memory", "guides/larger-than-memory.html"),
        ("pytorch", "guides/torch.html"),
    ],
)
def test_the_search_finds_the_guide(browsed, question, place):
    """Among the first three: the page of questions may stand before it."""
    page = browsed(SITE / "search.html", f"?q={question.replace(' ', '+')}")
    found = page.locator("#search-results li a")
    found.first.wait_for()
    page.wait_for_timeout(500)
    links = [link.get_attribute("href") for link in found.all()]
    assert place in [link.partition("#")[0] for link in links][:3], links[:8]
