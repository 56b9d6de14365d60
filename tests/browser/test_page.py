"""The explorer as a file and as a page: size, network, access, widths, pictures, speed."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.browser.driving import drag, rest

LARGEST_FILE = 400_000  # bytes


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
    assert times.size >= 10
    share = float((times < 50.0).mean())
    measured(
        f"{name}: {share:.1%} of {times.size} drag frames under 50 ms; median "
        f"{np.median(times):.1f} ms, 95 % under {np.quantile(times, 0.95):.1f} ms"
    )
