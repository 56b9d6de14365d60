"""Chromium, driven by Playwright; tests are skipped with a reason where one of them is missing."""

import shutil

import numpy as np
import pytest

import weightnorm as wn
from tests.browser.driving import wait_until

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# nothing that a browser does for itself: no sandbox for root, no service that looks for a network
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
MEASURED = []


@pytest.fixture(scope="session")
def chromium():
    """The browser, started once."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium (make browser)")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs make browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def browsed(chromium):
    """Open a file in a window of its own; a console error or a request elsewhere fails the test."""
    contexts, faults = [], []

    def open_page(path, hash_="", size=(1400, 1000), **options):
        width, height = size
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: faults.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: _see(request.url, faults))
        page.goto(f"{path.as_uri()}{hash_}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def opened(browsed):
    """The same for the explorer, once it has drawn its first picture."""

    def open_page(*arguments, **options):
        page = browsed(*arguments, **options)
        wait_until(page, "window.weightnorm !== undefined")
        return page

    return open_page


def _see(url, faults):
    if not url.startswith(("file:", "data:", "blob:")):
        faults.append(f"asked for {url}")


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


@pytest.fixture
def measured():
    """Keep a sentence with a measurement, for the end of the run."""
    return MEASURED.append


def pytest_terminal_summary(terminalreporter):
    """Print what was measured."""
    for sentence in MEASURED:
        terminalreporter.write_line(f"measured: {sentence}")
