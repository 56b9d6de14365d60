"""Sphinx builds the site from here: `make docs`. Nothing is fetched, and a warning is an error.

`_ext` makes what nobody should write by hand. `reference_table` says which public names stand
together, and a name that it leaves out ends the build (and is a failing test); `reference_pages`
writes a page for each; `plain_docstrings` keeps |g| and coef_ what they are in plain text;
`command_page` asks the command for its options; `link_names` turns every name in the text into a
link; `local_katex` renders formulas and stops at one that does not parse; `explorer_page` writes
the explorer into the site, and `_static/explorer-theme.js` tells it which theme the page around it
has. Pages that are measured or proved (claims, erratum, benchmarks, steps, priors, the keys of a
sweep file) are written by the programs that know, stored, and compared by tests (`make pages`,
`make bench`). `tests/support/pages.py` runs the code of a page as a reader would, shell included.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["MPLBACKEND"] = "Agg"

import weightnorm  # noqa: E402

project = "weightnorm"
author = "the weightnorm developers"
project_copyright = "the weightnorm developers, MIT licence"
version = release = weightnorm.__version__
language = "en"
smartquotes = False  # --quick is two hyphens

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.katex",
    "plain_docstrings",  # |g| and coef_ in docstrings stay what they are
    "reference_pages",  # a page for every public name
    "command_page",  # the commands, from the command itself
    "explorer_page",  # the explorer, as one file of the site
    "link_names",  # names in the text lead to their pages
    "local_katex",  # KaTeX from docs/node_modules, strict
]
exclude_patterns = ["_build", "node_modules", "_ext"]
default_role = "py:obj"  # `run` in a docstring links to its page; what has none stays code

# --- reference, from docstrings ---------------------------------------------------------------
autosummary_generate = False  # reference_pages writes them
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # the docstrings say types in words
autodoc_mock_imports = ["torch"]  # its pages need only docstrings and signatures
numpydoc_show_class_members = False  # a page lists those that a user calls
numpydoc_use_plots = False
add_module_names = False
toc_object_entries_show_parents = "hide"

# --- pages in Markdown ------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_title_to_header = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# --- the gallery: scripts that are run --------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": ".*",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "notebook_extensions": set(),
}

# --- looks ------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "weightnorm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["explorer-theme.js"]
html_show_search_summary = False  # a page opened as a file may not read others
html_search_scorer = str(HERE / "search_scores.js")
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "weightnorm"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "show_nav_level": 1,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_bar_text": "Ask: step size, limit, freeze …",
}
html_sidebars = {"index": []}
