"""Configuration of the site, which `make docs` builds from these pages, the docstrings and the figures."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))

import docstrings  # noqa: E402
import gallery  # noqa: E402

project = "Tacit"
author = copyright = "The Tacit developers"
version = release = version_of("tacit")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",  # links to the source, which is part of the site
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "indices",  # docs/_site: subscripts and superscripts in docstrings, such as x_n and α^{2−D}
    "source_links",  # docs/_site: links between source code and reference
    "unicode_math",  # docs/_site: formulas in Unicode on some pages become MathML
    "breaks",  # docs/_site: line breaks in long names in tables
    "switches",  # docs/_site: accessible names for the switches of the sidebar
    "mathml",  # docs/_site: LaTeX becomes MathML
    "math_font",  # docs/_site: the font of formulas
    "docstrings",  # docs/_site: docstrings are prose with formulas in Unicode, not reStructuredText
]
exclude_patterns = ["_build", "_examples", "_templates", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
nitpicky = True
highlight_language = "none"  # indented blocks in docstrings are formulas
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
smartquotes = False  # q' is a derivative

autodoc_typehints = "none"  # types are in the numpydoc sections
autodoc_member_order = "bysource"  # own members first, inherited ones last
autosummary_filename_map = docstrings.file_names()
autosummary_context = {
    "elsewhere": docstrings.documented_elsewhere(),
    "internal": ", ".join(docstrings.INTERNAL),
}
autosummary_imported_members = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False

sphinx_gallery_conf = gallery.configuration(HERE)

html_theme = "pydata_sphinx_theme"
html_title = "Tacit"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # needs requests, which browsers refuse for local files
LONG = [
    "accuracy",
    "changelog",
    "claims",
    "errata",
    "gallery/**",
    "reference/**",
]  # other pages use the width for code
html_sidebars = {"index": [], "tutorial": [], "items": [], "map": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "Tacit", "alt_text": "Tacit, home"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "collapse_navigation": True,  # otherwise the sidebar has switches without names
    "secondary_sidebar_items": {page: ["page-toc"] for page in LONG},
    "footer_start": ["copyright"],
    "footer_end": [],
}
