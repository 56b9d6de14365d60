"""Every page of the documentation: its code runs, its lines fit, its links lead somewhere."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.support.pages import DOCS, ROOT, blocks, load, reference, run_page

GENERATED = {"erratum/claims.md", "erratum/erratum.md"}  # test_certificate.py has them
TORCH = {"guides/torch.md"}  # tests/torch runs it
ALL = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "node_modules", "generated", "gallery"} & set(path.relative_to(DOCS).parts)
}
RUN = [name for name in ALL if name not in GENERATED | TORCH and blocks(ALL[name])]
QUICK = {"index.md", "guides/plan.md", "guides/results.md", "explanation/limit.md"}  # within 1 s


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """A folder of its own, and plots that are not shown."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


def each(names):
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in names]


@pytest.mark.parametrize("name", each(n for n in RUN if n != "guides/cluster.md"))
@pytest.mark.filterwarnings("default")  # a reader's interpreter does not stop at a warning
def test_the_code_of_a_page_runs(name, quiet):
    names = run_page(ALL[name], quiet)
    CHECKS.get(name, lambda names, folder: None)(names, quiet)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_page_on_clusters_runs(quiet):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        there = {"tcp://10.0.0.1:8786": cluster.scheduler_address}
        outcome = run_page(ALL["guides/cluster.md"], quiet, replace=there)["outcome"]
    assert (outcome.computed, outcome.note) == (16, "")
    assert outcome.path.exists()
    assert (quiet / "results" / "grid.nc").exists()


def check_start(names, folder):
    figures = {"end_norms.png", "slow_scale.png", "two_phases.png", "phase_diagram.png"}
    assert {path.name for path in folder.glob("*.png")} == figures
    shown = (DOCS / "start" / "index.md").read_text(encoding="utf-8")
    told = re.findall(r"after (\d+) steps.*? norm=([\d.]+),.*distance=([\d.]+)\)", shown)
    for result, (steps, norm, distance) in zip((names["gd"], names["rpgd"]), told, strict=True):
        assert result.num_steps == pytest.approx(int(steps), abs=1)
        assert (result.norm, result.distance) == pytest.approx((float(norm), float(distance)), 1e-3)
    assert f"{names['limit'].norm:.4f} {names['limit'].distance:.4f}" in shown
    assert names["data"].attrs["summary"] in shown


def check_estimators(names, folder):
    X, y = names["X"], names["y"]
    assert names["model"].predict(X) == pytest.approx(y, abs=1e-8)  # an interpolating fit
    assert (names["classifier"].predict(X) == names["labels"]).all()
    assert names["classifier"].status_ == "separable"
    assert names["chosen"].share_ > 0.5
    # its first figures are those of the page that was measured
    tables, text = (
        (DOCS / "guides" / n).read_text("utf-8") for n in ("priors.md", "estimators.md")
    )
    least = re.findall(
        r"^\| (?:diabetes|genomics|digits).*?\| .*? \| (\S+) ± (\S+) \|", tables, re.M
    )
    assert len(least) == 3
    told = re.search(r"by (\S+), (\S+) and (\S+) in R² \(± (\S+), (\S+)\s+and (\S+)\)", text)
    for (mean, error), there, spread in zip(
        least, told.groups()[:3], told.groups()[3:], strict=True
    ):
        assert float(there) == pytest.approx(-float(mean), abs=0.006)
        assert float(spread) == pytest.approx(float(error), abs=0.006)


def check_larger(names, folder):
    assert names["result"].status == "converged"
    assert names["limit"].applies
    assert abs(names["found"].norm - names["limit"].norm) <= names["found"].error < 1e-6
    assert names["tall"].floor / names["n"] == pytest.approx(0.005, rel=0.05)
    assert (folder / "weights.zarr").exists()


def check_kernels(names, folder):
    problem, result, limit = names["problem"], names["result"], names["limit"]
    assert result.status == "converged"
    assert abs(result.norm - limit.norm) <= 0.02 * limit.norm  # steps against none
    assert limit.start_share > 0.05 * names["norm"]  # the example shows something
    kernel, X, new = names["kernel"], names["X"], names["X_test"]
    known = kernel(new, X) @ np.linalg.solve(kernel(X, X), names["y"])
    assert np.abs(names["model"].predict(new) - known).max() <= 1e-9
    assert problem.rank == names["model"].rank_ == 30
    kept = names["kept"].predict(new, start_values=names["f0_test"])
    there = limit.predict(kernel(new, X), start_values=names["f0_test"])
    assert np.abs(kept - there).max() <= 1e-9  # the same fit, by the estimator


def check_plan(names, folder):
    """The distances that comments of the page name."""
    run, problem, far = names["wn"].run, names["problem"], names["far"]
    assert run(names["plain"], problem, **far).distance == pytest.approx(0.94, abs=0.005)
    assert run(names["two_phase"], problem, **far).distance == pytest.approx(0.004, abs=5e-4)


def check_own_data(names, folder):
    assert names["smallest"] == pytest.approx(0.51, abs=0.005)
    assert names["rpgd"].distance == pytest.approx(0.065, abs=5e-4)
    assert names["gd"].distance == pytest.approx(0.377, abs=5e-4)
    files = ("norms.png", "distances.png", "fit.png", "predictions.csv")
    assert all((folder / name).exists() for name in files)


def check_limit(names, folder):
    assert names["limit"].norm == pytest.approx(3.142, abs=1e-3)
    assert names["printed"].norm == pytest.approx(3.301, abs=1e-3)


def check_paper(names, folder):
    assert names["exact"].norm == pytest.approx(1.96, abs=0.01)
    assert names["printed"].norm == pytest.approx(3.72, abs=0.01)


def check_index(names, folder):
    assert names["gd"].distance == pytest.approx(1.64, abs=0.005)
    assert names["rpgd"].distance == pytest.approx(0.20, abs=0.005)
    assert names["limit"].distance == pytest.approx(0.20, abs=0.005)


CHECKS = {
    "index.md": check_index,
    "start/index.md": check_start,
    "guides/estimators.md": check_estimators,
    "guides/kernels.md": check_kernels,
    "guides/larger-than-memory.md": check_larger,
    "guides/own-data.md": check_own_data,
    "guides/plan.md": check_plan,
    "explanation/limit.md": check_limit,
    "explanation/paper.md": check_paper,
}

WRITTEN = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
WRITTEN += [f"docs/{name}" for name in ALL if name not in GENERATED]


@pytest.mark.parametrize("name", WRITTEN)
def test_pages_fit_a_screen_and_their_links_lead_somewhere(name):
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    long = [line for line in prose.splitlines() if len(line) > 100 and line[:1] not in "|:"]
    assert long == []
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if "generated/" in link or "gallery/" in link or link.startswith("https://"):
            continue  # made when the site is built, which looks at every link itself
        assert (path.parent / link).exists(), link


def test_the_readme_is_read_in_two_minutes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 600
    assert len(re.findall(r"^!\[", text, re.M)) == 1
    assert not re.search(r"^\|", text, re.M)


# packages with public names of their own that are not for users of the library
INSIDE = {
    *("weightnorm.flows", "weightnorm.problems.kernel", "weightnorm.problems.minimum"),
    *(f"weightnorm_paper.{name}" for name in ("claims", "experiments", "figures")),
    "weightnorm_paper.report",
}


def test_every_public_name_is_in_the_reference():
    """The build looks at weightnorm.torch too, which needs no PyTorch there."""
    pages = [page for page in reference() if page.module != "weightnorm.torch"]
    assert [fault for page in pages for fault in page.faults()] == []
    packages = [path.parent for path in (ROOT / "src").rglob("__init__.py")]
    public = {
        ".".join(path.relative_to(ROOT / "src").parts)
        for path in packages
        if re.search(r"^__all__ = ", (path / "__init__.py").read_text(encoding="utf-8"), re.M)
    }
    told = {page.module for page in reference()} | {"weightnorm.estimators"}  # under weightnorm
    assert public - told == INSIDE
    names = [f"{page.module}.{name}" for page in reference() for name in page.names]
    assert len(names) == len(set(names)) > 150


def test_a_name_that_is_left_out_of_the_reference_is_seen():
    kind = type(reference()[0])
    page = kind("plot", "Plots", "weightnorm.plot", "", {"Some": "path trajectory nothing"})
    assert page.faults() == [
        "the reference names ['nothing'], not in weightnorm.plot",
        "the reference leaves out ['early_stopping', 'end_norms', 'limit_norms', 'phase_diagram'] "
        "of weightnorm.plot",
    ]


GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def test_the_gallery_is_large_enough():
    assert len(GALLERY) >= 8


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_ends_in_what_one_sees(script):
    """`make docs` runs it; here, that it asserts something and says so in a sentence."""
    text = script.read_text(encoding="utf-8")
    code, _, last = text.rpartition("# %%\n")
    assert len(text.splitlines()) <= 60
    assert "\nassert " in code or "\n        assert " in code
    assert re.fullmatch(r"(# .*\n)+", last)
    assert last.rstrip().endswith(".")


def test_what_the_site_is_built_with_is_pinned():
    import json

    lock = json.loads((DOCS / "package-lock.json").read_text(encoding="utf-8"))
    wanted = json.loads((DOCS / "package.json").read_text(encoding="utf-8"))["dependencies"]
    for name, version in wanted.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    assert all("resolved" not in package for package in lock["packages"].values())
    pinned = (ROOT / "requirements-docs.lock").read_text(encoding="utf-8")
    main = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    versions = [dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.M)) for text in (pinned, main)]
    assert all(versions[1].get(name, v) == v for name, v in versions[0].items())  # no two of one
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]["docs"]
    assert {re.split(r"[><=]", each)[0] for each in asked} <= versions[0].keys()


@pytest.fixture(scope="module")
def site():
    return load(ROOT / "tools" / "site.py")


NAME = "reference/generated/weightnorm.x.html"
FUNCTION = (
    '<article><dl class="py function"><dt>x(<em class="sig-param">a</em>)</dt>'
    "<p>Parameters</p><p>Returns</p><p>Examples</p></dl></article>"
)
GOOD = {
    "index.html": (
        '<meta name="viewport"><a href="sub/page.html#here">a</a><a href="https://else.example/">b</a>'
        '<a href="sub/page.html#g%2A">c</a><img srcset="a.png 1x, a.png 2x, " src="data:,x">'
        '<link rel="canonical" href="https://else.example/x"><script>let a = "//no/load"</script>'
    ),
    "sub/page.html": (
        '<h2 id="here">x</h2><h2 id="g*">x</h2><img src="../a.png">'
        '<link rel="stylesheet" href="s.css">'
    ),
    "sub/s.css": "@font-face { src: url('../a.png') } a { background: url(data:,x) }",
    "a.png": "",
    NAME: FUNCTION,
}
BAD = {
    "a missing file": ("index.html", '<a href="none.html">x</a>'),
    "a missing heading": ("index.html", '<a href="sub/page.html#there">x</a>'),
    "a name that is no heading": ("index.html", '<meta name="y"><a href="#y">x</a>'),
    "a missing picture": ("index.html", '<img src="none.png">'),
    "a missing picture of two": ("index.html", '<img srcset="a.png 1x, none.png 2x">'),
    "a file above the site": ("index.html", '<a href="../outside.html">x</a>'),
    "a file of one machine": ("index.html", '<a href="file:///etc/hosts">x</a>'),
    "an area": ("index.html", '<area href="none.html">'),
    "a form": ("index.html", '<form action="none.html"></form>'),
    "a script from elsewhere": ("index.html", '<script src="https://cdn.example/x.js"></script>'),
    "a style from elsewhere": ("index.html", '<link rel="StyleSheet" href="//cdn.example/x.css">'),
    "a connection elsewhere": ("index.html", '<link rel="preconnect" href="https://x.example">'),
    "a base elsewhere": ("index.html", '<base href="https://x.example">'),
    "a refresh": ("index.html", '<meta http-equiv="Refresh" content="0; url=https://x.example">'),
    "a picture in a picture": ("index.html", '<svg><image href="https://x.example/a.png"/></svg>'),
    "a track": ("index.html", '<track src="https://x.example/t.vtt">'),
    "a font from elsewhere": ("sub/s.css", "@font-face { src: URL(https://fonts.example/f) }"),
    "a style in a page": ("index.html", "<style>@IMPORT 'https://cdn.example/x.css'</style>"),
    "a style in a tag": ("index.html", '<p style="background: url(none.png)">'),
    "a missing font": ("sub/s.css", "@font-face { src: url(none.woff2) }"),
    "a fetch": ("x.js", 'fetch("https://api.example/count")'),
    "a fetch in a page": ("index.html", '<script>import x from "https://x.example/m.js"</script>'),
    "no example": (NAME, FUNCTION.replace("Examples", "")),
    "no parameters": (NAME, FUNCTION.replace("Parameters", "")),
    "no returns": (NAME, FUNCTION.replace("Returns", "")),
    "an empty class": (NAME, '<article><dl class="py class"><p>Examples</p></dl></article>'),
    "an endless signature": (NAME, FUNCTION.replace("</em>", "a=[1, 2, 3]" * 200 + "</em>")),
}


def build(folder: Path, pages):
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_sound_site_passes(site, tmp_path, capsys):
    assert site.main(build(tmp_path, GOOD)) == 0
    assert "every link leads somewhere" in capsys.readouterr().out


@pytest.mark.parametrize("fault", BAD)
def test_a_fault_of_the_site_is_found(site, tmp_path, capsys, fault):
    name, text = BAD[fault]
    (tmp_path / "outside.html").write_text("", encoding="utf-8")
    root = build(tmp_path / "site", GOOD | {name: text})
    assert site.main(root) == 1
    assert "1 faults" in capsys.readouterr().out


def test_a_folder_without_pages_is_no_site(site, tmp_path):
    assert site.main(tmp_path) == 1
