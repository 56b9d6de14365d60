"""The page is one file: modules in order, everything escaped, whatever breaks a rule refused."""

import json
import math
import re

import pytest

from tests.support.explorer_cases import FAKE, PROBLEM, W, write_assets
from weightnorm.explorer import build, modules
from weightnorm.explorer.describe import describe

REAL = build.assets()


@pytest.fixture
def assets(tmp_path):
    """Write assets to a folder: the fake ones, with these in place of some."""
    return lambda **changed: write_assets(tmp_path / "page", **changed)


def test_the_page_is_put_together(assets):
    text = build.page({"a": 1.5, "b": [True, None]}, folder=assets())
    assert text == (
        "<style>p { color: red }\n</style>\n<script>// ---- draw.js\n"
        "function draw(it) {\n  return it;\n}\n\n// ---- main.js\n"
        'function show(it) {\n  draw(it);\n}\n\nshow({"a":1.5,"b":[true,null]});</script>\n'
    )
    assert build.page(folder=assets()).count("show(null);") == 1
    assert build.page(folder=assets()) == build.page(folder=assets())


def test_what_a_module_imports_stands_before_it(assets):
    folder = assets(
        main_js='import { b } from "./b.js";\nimport { c, d } from "./c.js";\nb(c, d);\n',
        b_js='import { d } from "./c.js";\nexport const b = (x) => d + x;\n',
        c_js='import { e, } from "./e.js";\nexport let c = e;\nexport class d {}\n',
        e_js="export async function e() {}\nexport const f = 1, g = 2;\n",
        unused_js="import what from where\n",
    )
    assert build.modules(folder) == ["e.js", "c.js", "b.js", "main.js"]
    text = build.page(folder=folder)
    assert not re.search(r"\b(import|export)\b", text)
    assert "\nasync function e() {}\nconst f = 1, g = 2;\n" in text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('import x from "./draw.js";', "is not allowed"),
        ('import * as x from "./draw.js";', "is not allowed"),
        ('import { draw as x } from "./draw.js";', "'draw as x' cannot be imported"),
        ('import "./draw.js";', "is not allowed"),
        ('import { draw } from "draw";', "is not allowed"),
        ('import { draw } from "../draw.js";', "is not allowed"),
        ('import { draw } from "https://example.org/draw.js";', "is not allowed"),
        ('import {\n  draw,\n} from "./draw.js";', "is not allowed"),
        ('  import { draw } from "./draw.js";', "is not allowed"),
        ('show(await import("./draw.js"));', "is not allowed"),
        ("const where = import.meta.url;", "is not allowed"),
        ("export default draw;", "is not allowed"),
        ("export { show };", "is not allowed"),
        ('export * from "./draw.js";', "is not allowed"),
        ("export const { a, b } = draw();", "is not allowed"),
        ("export var old = 1;", "is not allowed"),
        ("show(); export const a = 1;", "is not allowed"),
        ('import { draw } from "./gone.js";', "there is no file gone.js"),
        ('import { paint } from "./draw.js";', "draw.js does not export paint"),
        ('import { hidden } from "./draw.js";', "draw.js does not export hidden"),
        ("const end = '</script>';", "'</script' is not allowed"),
        ("const end = '</SCRIPT >';", "'</script' is not allowed"),
        ("const mark = '<!-- x';", "'<!--' is not allowed"),
        ("const text = `without an end;", "a ` without its end"),
        ("const { a: { b } } = draw();", "must name plainly what it declares"),
        ('const found = await fetch("data.json");', "'fetch(' is not allowed"),
    ],
)
def test_a_module_that_breaks_a_rule(assets, line, why):
    folder = assets(
        main_js=f'import {{ draw }} from "./draw.js";\n\n{line}\n',
        draw_js="export function draw() {}\nconst hidden = 1;\n",
    )
    with pytest.raises(ValueError, match=rf"^main\.js, line 3: .*{re.escape(why)}"):
        build.page(folder=folder)


def test_imports_in_a_circle(assets):
    folder = assets(
        draw_js='import { pen } from "./pen.js";\nexport function draw() {}\n',
        pen_js='import { draw } from "./draw.js";\nexport const pen = 1;\n',
    )
    with pytest.raises(ValueError, match=r"pen\.js, line 1: .*draw\.js → pen\.js → draw\.js"):
        build.page(folder=folder)


@pytest.mark.parametrize(
    "line",
    [
        "const draw = 1;",
        "let a, b = [1, 2], draw;",
        "const { x, y: draw } = it();",
        "class draw {}",
        "function* draw() {}",
        "var one = 1; let draw = 2;",
    ],
)
def test_a_name_that_two_modules_declare(assets, line):
    folder = assets(main_js=f'import {{ other }} from "./draw.js";\n{line}\n')
    (folder / "draw.js").write_text("export function draw() {}\nexport const other = 1;\n")
    with pytest.raises(ValueError, match=r"draw\.js and main\.js both declare draw"):
        build.page(folder=folder)


def test_only_code_is_code():
    """Neither comments nor strings nor templates nor regular expressions; names of inner blocks
    are nobody's business.
    """
    text = """/* import x from "y";
export default */
// export { a };
const quote = "import x", other = 'export { b }';
const long = `
import ${quote + `export ${other}` + "}"} from
export default`;
const pattern = /["'`{]/g, half = quote.length / 2, third = quote.length / 3;
const first = (a) => { const inside = 1; return /}'/.test(a); };
export function last({ one, two } = {}) {
const inside = { import: 1, export: 2 }.export;
  return inside++ / 2 + "'".length / 2;
}
"""
    module = modules.read_module("a.js", text)
    assert module.exports == {"last"}
    names = ["quote", "other", "long", "pattern", "half", "third", "first", "last"]
    assert module.declared == set(names)
    assert module.code == text.replace("export function last", "function last")


@pytest.mark.parametrize("marker", ["/*STYLE*/", "/*SCRIPT*/", "/*PROBLEM*/"])
@pytest.mark.parametrize("times", [0, 2])
def test_a_template_without_its_markers(assets, marker, times):
    folder = assets(index_html=FAKE["index.html"].replace(marker, marker * times))
    with pytest.raises(ValueError, match=re.escape(f"{marker} once, and has it {times} times")):
        build.page(folder=folder)


def test_a_marker_elsewhere_is_only_text(assets):
    folder = assets(style_css="/*SCRIPT*/", main_js="// /*PROBLEM*/ /*STYLE*/\n")
    text = build.page({"name": "/*STYLE*/"}, folder=folder)
    assert text.startswith("<style>/*SCRIPT*/</style>")
    assert 'show({"name":"/*STYLE*/"});' in text


@pytest.mark.parametrize("missing", ["index.html", "style.css", "main.js"])
def test_a_missing_asset(assets, missing):
    folder = assets()
    (folder / missing).unlink()
    with pytest.raises(ValueError, match=f"the page.* no .*{missing}"):
        build.page(folder=folder)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("index_html", '<script src="https://example.org/x.js"></script>'),
        ("index_html", '<link rel="stylesheet" href="other.css">'),
        ("index_html", "<img alt='' src='//example.org/a.png'>"),
        ("style_css", '@import "other.css";'),
        ("style_css", "p { background: url(https://example.org/a.png) }"),
        ("style_css", "p { } </style>"),
    ],
)
def test_what_would_load_something_else_is_refused(assets, name, text):
    folder = assets(**{name: FAKE[name.replace("_", ".")] + text})
    with pytest.raises(ValueError, match="is not allowed; the page must be one file"):
        build.page(folder=folder)


def test_what_loads_nothing_is_let_through(assets):
    text = '<link rel="icon" href="data:,"><a href="https://example.org">more</a>'
    css = "p { background: url(data:image/png;base64,AAAA); filter: url('#blur') }"
    page = build.page(folder=assets(index_html=FAKE["index.html"] + text, style_css=css))
    assert text in page
    assert css in page


NASTY = "</script><script>alert(1)</script><!-- \u2028\u2029 & ü \udce9 \\ \" '"


def test_a_problem_cannot_leave_its_script(assets):
    text = build.page({"name": NASTY}, folder=assets())
    assert text.count("</script") == 1
    assert not re.search("[<\u2028\u2029]", build.as_json({"name": NASTY}))
    inlined = re.search(r"show\((.*)\);</script>", text)[1]
    assert inlined.isascii()
    assert json.loads(inlined) == {"name": NASTY}
    with pytest.raises(ValueError, match="JSON"):
        build.as_json([math.nan])


def loads(text):
    """What in a page asks for something that is elsewhere."""
    inside = r"<(?!a\b)\w+[^>]*\b(?:src|href|action|data|poster)\s*=\s*[\"']?(?:https?:|//|\w+\.)"
    return re.findall(rf"{inside}|@import|url\(\s*[\"']?https?:|\bimport\s*\(", text)


def test_the_real_page_is_one_file():
    found = describe(PROBLEM, direction=W, name=NASTY)
    text = build.page(found)
    assert loads(text) == []
    assert build.as_json(found) in text
    assert text == build.page(found)
    assert build.modules()[-1] == "main.js"
    assert all(f"// ---- {name}\n" in text for name in build.modules())
    assert not re.search(r"^(import|export)\b", text, re.M)
    assert text.lower().startswith("<!doctype html>")
    assert len(text) < 2**19
    assert build.page().replace("null", "") != text


@pytest.mark.parametrize(
    "path", sorted(REAL.iterdir(), key=lambda path: path.name), ids=lambda path: path.name
)
def test_the_lines_of_an_asset_fit(path):
    long = [line for line in path.read_text(encoding="utf-8").splitlines() if len(line) > 100]
    assert long == []
