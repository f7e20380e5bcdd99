"""Write the gallery: one example for each figure with a short title.

The examples are generated, so that each figure is defined once: the caption comes from the registry and the
image from `reproduce`. sphinx-gallery runs an example again if its text has changed, and all examples if the
source of Tacit has changed.
"""

import json
import re
import shutil
import textwrap
from pathlib import Path

from tacit.papers import Reproduction, figures
from tacit.papers.catalogue import titles
from tacit.papers.completed import made_with

SHORT = {entry.key: entry.short for entry in figures() if entry.short}  # each takes a few seconds
HEADER = "GALLERY_HEADER.rst"
INTRODUCTION = """
Gallery
=======

These are figures of the papers, computed while this site was built. Each is followed by the claims that the
paper makes about it, with the measured value and the threshold. Only figures that take a few seconds are
shown here. ``tacit reproduce list`` lists all figures, ``tacit reproduce all`` makes them, and ``tacit
report`` collects them in one file; :doc:`/claims` lists the claims about each.
"""
EXAMPLE = '''"""
{title}
{line}

{caption}
"""

from tacit.papers import figures, reproduce

made = reproduce(figures("{key}")[0])
for claim in made.claims:
    print(claim.summary())

# %%
# In a terminal: ``tacit reproduce {key}``.
'''


def configuration(docs):
    """The configuration of sphinx-gallery; also writes the examples and removes outdated ones."""
    examples, pages = docs / "_examples", docs / "gallery"
    forget_what_is_old(examples, pages)
    write_examples(examples)
    return {
        "examples_dirs": examples.name,
        "gallery_dirs": pages.name,
        "subsection_order": [f"{examples.name}/{paper}" for paper in titles()],
        "within_subsection_order": "FileNameSortKey",
        "filename_pattern": "",
        "image_scrapers": (__name__,),
        "capture_repr": (),
        "abort_on_example_error": True,
        "download_all_examples": False,
        "write_computation_times": False,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 1e9,
    }


def forget_what_is_old(examples, pages):
    """Remove pictures made by another source of Tacit or other versions of its dependencies."""
    sources, made_of = json.dumps(made_with()), pages / "made-of.txt"
    if not made_of.exists() or made_of.read_text() != sources:
        shutil.rmtree(pages, ignore_errors=True)
        shutil.rmtree(examples, ignore_errors=True)
        pages.mkdir(parents=True)
        made_of.write_text(sources)


def write_examples(folder):
    """Write a script for each short figure, in one folder for each paper."""
    write(folder / HEADER, INTRODUCTION)
    for paper, title in titles().items():
        keys = [key for key in SHORT if key.startswith(f"{paper}/")]
        if keys:
            write(folder / paper / HEADER, f"{title}\n{'-' * len(title)}\n")
        for key in keys:
            write(folder / paper / f"{name_of(key)}.py", example(key))


def example(key):
    """The script of a figure."""
    entry = figures(key)[0]
    title = f"{numbered(key)}: {SHORT[key]}"
    caption = textwrap.fill(plain(entry.caption), 100)
    return EXAMPLE.format(title=title, line="=" * len(title), caption=caption, key=key)


def numbered(key):
    """The title of a figure: azulay2021/fig7.1 → Figure 7.1, woodworth2020/theorem4 → Theorem 4."""
    name = key.partition("/")[2].replace("fig", "figure", 1).replace("-", " ").capitalize()
    return re.sub(r"(?<=[a-z])(?=\d)", " ", name)


def name_of(key):
    """The file name of a figure: azulay2021/fig7.1 → azulay2021_fig7_1."""
    return key.replace("/", "_").replace(".", "_").replace("-", "_")


def page(key):
    """The page of a figure, relative to the root of the site."""
    return f"gallery/{key.partition('/')[0]}/{name_of(key)}.html"


def plain(text):
    """Escape bars and stars."""
    return text.replace("\\", "").replace("|", "∣").replace("*", "∗")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def picture(block, block_vars, gallery_conf):
    """Copy the picture that `reproduce` wrote."""
    from sphinx_gallery.scrapers import figure_rst

    names = block_vars["example_globals"]
    made = names.get("made")
    if not isinstance(made, Reproduction) or names.get("shown"):
        return ""
    names["shown"] = True
    path = next(block_vars["image_path_iterator"])
    shutil.copy(Path(block_vars["src_file"]).parent / made.files["png"], path)
    return figure_rst([path], gallery_conf["src_dir"], plain(made.caption))


def _get_sg_image_scraper():
    """The scraper, which sphinx-gallery looks up in this module."""
    return picture
