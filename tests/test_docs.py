"""The documentation: its code prints the output shown, its links resolve, every public name is in it."""

import hashlib
import importlib
import inspect
import json
import re
import shlex
import sys

import pages
import pytest

import tacit
from tacit import cli, estimators, losses, potentials
from tacit.papers import figures
from tacit.papers.catalogue import papers, titles
from tacit.theorems import theorems

sys.path.insert(0, str(pages.ROOT / "docs" / "_site"))
import check
import gallery
import pictures

sys.path.insert(0, str(pages.ROOT / "benchmarks"))
import readme

pytestmark = pytest.mark.any_cpu
LONG_PAGES = {  # pages whose code takes seconds
    "docs/howto/estimators.md",
    "docs/howto/flows.md",
    "docs/howto/model.md",
    "docs/howto/parametrization.md",
    "docs/models/matrices.md",
    "docs/models/network.md",
    "docs/models/neuron.md",
    "docs/models/parametrization.md",
}

REFERENCE = (pages.ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
MODULES = [line.strip() for line in REFERENCE.splitlines() if re.fullmatch(r" +tacit[\w.]*", line)]
TORCH = [pytest.param(page, marks=pytest.mark.torch) for page in pages.pages() if pages.needs_torch(page)]


def test_long_pages_exist():
    assert set(pages.pages()) >= LONG_PAGES


@pytest.mark.thorough_cases(*LONG_PAGES)
@pytest.mark.parametrize("page", [*(page for page in pages.pages() if not pages.needs_torch(page)), *TORCH])
def test_code_runs_and_prints_what_stands_below_it(page):
    if pages.needs_torch(page):
        pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
    for block, printed in pages.run(page):
        if block.output is not None:
            assert pages.same(printed, block.output), f"line {block.line}: prints\n{printed}"


def test_outputs_are_compared_as_numbers():
    assert pages.same("error 3e-16, 4 ms\n", "error 1e-14, 95 ms")
    assert pages.same("at 0.1234", "at  0.1235")
    assert not pages.same("at 0.1234", "at 0.1294")
    assert not pages.same("at 0.1234", "in 0.1234")
    assert not pages.same("one\ntwo", "one two")


def test_every_module_for_users_is_in_the_reference():
    """The modules are `losses`, `potentials` and the submodules that `tacit` lists besides its names."""
    beside = {f"tacit.{name}" for name in dir(tacit) if inspect.ismodule(getattr(tacit, name, None))}
    assert beside <= set(MODULES)
    assert "tacit" in MODULES


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module):
    """The reference has the names of __all__ and the public members of classes, except plain fields."""
    home = importlib.import_module(module)
    assert inspect.getdoc(home)
    silent = []
    for name in home.__all__:
        item = getattr(home, name)
        text = inspect.getdoc(item) or ""
        if not text or (inspect.isclass(item) and text.startswith(f"{name}(")):
            silent.append(name)
        if inspect.isclass(item) and item.__module__.startswith("tacit"):
            silent += [f"{name}.{each}" for each, part in vars(item).items() if is_silent(each, part)]
    assert silent == []


def is_silent(name, part):
    """Whether it is public, not a plain field, and has no docstring."""
    speaks = callable(part) or isinstance(part, property)
    return speaks and not name.startswith("_") and not inspect.getdoc(part)


def links(text):
    """Addresses of links and pictures in Markdown, outside code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text))


def test_the_gallery_has_figures_of_the_registry():
    assert {entry.key for entry in figures()} >= set(gallery.SHORT)
    assert gallery.numbered("azulay2021/fig7.1") == "Figure 7.1"


def test_pictures_on_pages_are_figures_of_the_registry():
    """They have the sizes and seeds of `tacit reproduce`, are unchanged since then, and all are used."""
    record = json.loads(pictures.RECORD.read_text(encoding="utf-8"))
    assert list(record) == pictures.SHOWN
    for key, what in record.items():
        sha256 = hashlib.sha256(pictures.picture(key).read_bytes()).hexdigest()
        assert what == pictures.facts(key) | {"sha256": sha256}
    shown = {
        address.rpartition("/")[2]
        for path in (pages.ROOT / "docs").rglob("*.md")
        for address in links(path.read_text(encoding="utf-8"))
        if "pictures/" in address
    }
    assert shown == {pictures.picture(key).name for key in record}


def test_links_on_pages_lead_to_files():
    """All links except those into the gallery."""
    root = pages.ROOT
    texts = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]
    broken = []
    for path in texts:
        for address in links(path.read_text(encoding="utf-8")):
            name = address.partition("#")[0]
            made = "gallery/" in name or re.match(r"https?:", name)
            if name and not made and not (path.parent / name).exists():
                broken.append(f"{path.relative_to(root)}: {address}")
    assert broken == []


MAP = (pages.ROOT / "docs" / "map.md").read_text(encoding="utf-8")
CELLS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in MAP.splitlines() if line[:2] == "| "]
PAPERS = tuple(papers())


def test_keys_on_the_map_are_those_of_theorems_and_figures():
    named = re.findall(rf"(?<!papers/)\b(?:{'|'.join(PAPERS)})/[\w.-]*\w", MAP)
    known = {each.key for each in (*theorems(), *figures())}
    assert len(named) > 40
    assert set(named) <= known


def test_everything_for_users_is_on_the_map():
    """Models, functions, potentials, losses and estimators."""
    asked = {name for name in tacit.__all__ if is_model(getattr(tacit, name))}
    asked |= {name for name in tacit.__all__ if inspect.isfunction(getattr(tacit, name))}
    asked |= {*potentials.__all__, *losses.__all__, *estimators.__all__}
    named = {word for code in re.findall(r"`([^`]+)`", MAP) for word in re.findall(r"\w+", code)}
    assert {"Diagonal", "limit", "L1", "Square", "FlowRegressor"} <= asked <= named


def is_model(item):
    return inspect.isclass(item) and issubclass(item, tacit.Model)


def test_files_and_tests_on_the_map_exist():
    found = {path.name for path in (pages.ROOT / "tests").rglob("test_*.py")}
    assert {f"{name}.py" for name in re.findall(r"\btest_\w+", MAP)} <= found
    missing = []
    for cells in CELLS:
        folder = ""
        for file in re.findall(r"[\w/]+\.py", " ".join(cells)):
            folder = file.rpartition("/")[0] or folder
            path = pages.ROOT / "src" / "tacit" / folder / file.rpartition("/")[2]
            missing += [] if path.exists() else [file]
    assert missing == []


def test_papers_that_pages_cite_are_listed():
    listed = (pages.ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    entries = [*(" ".join(entry.split()) for entry in listed.split("\n- ")), *titles().values()]
    for page in (pages.ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for author, year in re.findall(r"\b([A-Z]\w+)(?: et al\.|(?:, \w+)* and \w+),? (20\d\d)", text):
            assert any(author in entry and year in entry for entry in entries), f"{page}: {author} {year}"


def test_errata_name_their_tests():
    """All errata except those that change no number."""
    text = (pages.ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in (pages.ROOT / "tests").rglob("test_*.py"))
    files = {path.name for path in (pages.ROOT / "tests").rglob("test_*.py")}
    known = files | set(re.findall(r"(?:def|class) (\w+)", tests))
    for entry in text.split("\n### ")[1:]:
        named = set(re.findall(r"`(?:[\w/]+/)?(test_\w+(?:\.py)?|Test\w+)`", entry))
        assert named <= known
        assert named or "change no number" in entry.partition("\n")[0], entry


def test_pages_whose_names_differ_in_capitals_are_found(tmp_path):
    for name in ("limit", "Limit"):
        (tmp_path / f"{name}.html").write_text('<html lang="en"><main><h1>A</h1>')
    assert [line.endswith("case-insensitive file system") for line in check.faults(tmp_path)] == [True]


def commands(text):
    """The commands in ```sh blocks of a page that begin with tacit, split into words."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("tacit ")]


def test_commands_on_pages_are_understood():
    texts = [path.read_text(encoding="utf-8") for path in (pages.ROOT / "docs").rglob("*.md")]
    typed = [command for text in texts for command in commands(text)]
    assert {command[0] for command in typed} >= {"limit", "flow", "check", "derive", "fit", "reproduce"}
    for command in typed:
        assert callable(cli._parse(command).run)
    with pytest.raises(SystemExit):
        cli._parse(["limit", "genes.csv", "--no-such-option"])


def test_figures_that_pages_reproduce_are_in_the_registry():
    known = {"list", "all", *papers(), *(entry.key for entry in figures())}
    for path in [pages.ROOT / "README.md", *(pages.ROOT / "docs").rglob("*.md")]:
        assert set(re.findall(r"tacit reproduce ([\w./-]+)", path.read_text(encoding="utf-8"))) <= known


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/tutorial.md"])
def test_limits_are_compared_with_the_raw_weights(page):
    """Mirror forms use the potential that limits minimize, so they would confirm a wrong one."""
    code = "".join(block.code for block in pages.blocks((pages.ROOT / page).read_text(encoding="utf-8")))
    flows = re.findall(r"tacit\.flow\(model, .*\)", code)
    assert flows and all('method="parameters"' in each for each in flows)


def test_no_page_says_that_limits_and_flows_share_nothing():
    """They share the treatment of data, and mirror forms the potential."""
    texts = [pages.ROOT / "README.md", *(pages.ROOT / "docs").rglob("*.md")]
    said = [path.name for path in texts if re.search("shares? nothing", path.read_text(encoding="utf-8"))]
    assert set(said) <= {"changelog.md"}


def test_the_front_page_is_short():
    assert len((pages.ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


NUMBERS = json.loads(readme.RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", sorted({*readme.PASSAGES, *readme.CLOCKED}))
def test_numbers_on_pages_are_those_that_were_measured(page):
    """`make readme` measures them; numbers changed by hand differ from its record."""
    text = (pages.ROOT / page).read_text(encoding="utf-8")
    assert readme.written(page, text, NUMBERS) == text
    for place in readme.clocks(text):
        changed = text[: place.start()] + "0.001 ms" + text[place.end() :]
        assert readme.written(page, changed, NUMBERS) == text
    for name in readme.PASSAGES.get(page, ()):
        begin = text.index(f"<!-- numbers: {name} -->")
        digit = begin + re.search(r"\d", text[begin:]).start()
        changed = text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :]
        assert readme.written(page, changed, NUMBERS) == text


def test_every_time_on_a_page_is_on_record():
    """Pages whose code prints times are those that `make readme` measures."""
    printing = {
        page for page in pages.pages() if readme.clocks((pages.ROOT / page).read_text(encoding="utf-8"))
    }
    assert printing == set(readme.CLOCKED)


def test_numbers_are_rounded_as_they_are_said():
    record = {
        "errors": [1.2e-16, 8e-16, 4.1e-14],
        "methods": {
            "tacit": {"seconds": 0.01326, "error": 7.1e-16},
            "lsoda": {"seconds": 6.0613, "error": 1.4e-10},
        },
        "near": {
            "problems": 2000,
            "converged": 1421,
            "worst": 6.3e-9,
            "flattering": 0,
            "determined": 1341,
            "determined_converged": 1331,
        },
        "steps": {"kernel": 4, "any": 28},
        "margins": {"points": 4800, "residual": 6.8e-13},
    }
    assert readme.words(record) == {
        "worst": "5e-14",
        "often": "8e-16",
        "ms": "13",
        "tacit": "1",
        "tacit_error": "7e-16",
        "lsoda": "460",
        "lsoda_error": "1e-10",
        "near_problems": "2,000",
        "near_converged": "1,421",
        "near_worst": "7e-9",
        "near_flattering": "none",
        "near_share": "99.3",
        "steps_kernel": "4",
        "steps_any": "28",
        "margins_points": "4,800",
        "margins_residual": "7e-13",
    }


def test_a_page_must_have_its_passages():
    with pytest.raises(ValueError, match="0 passages named good"):
        readme.written("README.md", "nothing", NUMBERS)


SITE = {
    "index.html": '<html lang="en"><main><h1 id="top">A</h1><a href="b.html#here">b</a>'
    '<img src="p.png" alt="">',
    "b.html": '<html lang="en"><main><h1>B</h1><p id="here"></p><a href="index.html#top">a</a>'
    '<a href="https://example.org">x</a>',
    "p.png": "",
}
FAULTS = {
    "no such file": '<a href="c.html">c</a>',
    "no such place": '<a href="index.html#nowhere">c</a>',
    "fetched": '<script src="https://example.org/x.js"></script>',
    "no alternative text": '<img src="p.png">',
    "main headings": "<h1>again</h1>",
    "index.html has no text": '<a href="index.html"><img src="p.png" alt=""></a>',
    "b.html has no text": '<a href="b.html"><a href="index.html">a</a></a>',
    "two elements": '<p id="here"></p>',
    "level 3 is below": "<h3>deep</h3>",
    "language": '<html lang="">',
    "$ is left": "<p>$x^2$</p>",
    "\\alpha is left": "<p>of size \\alpha</p>",
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_faults_of_a_site_are_found(fault, tmp_path):
    for name, text in SITE.items():
        (tmp_path / name).write_text(text + FAULTS.get(fault, "") * (name == "b.html"))
    found = list(check.faults(tmp_path))
    assert [fault in line for line in found] == ([True] if fault else [])


def test_latex_in_code_is_no_fault(tmp_path):
    (tmp_path / "b.html").write_text(
        '<html lang="en"><main><h1>B</h1><pre>$HOME \\alpha</pre><code>$x</code>'
    )
    assert list(check.faults(tmp_path)) == []


@pytest.mark.parametrize(
    ("folder", "formula", "count"), [("theory", "", 1), ("theory", "<math></math>", 0), ("howto", "", 0)]
)
def test_pages_of_the_theory_have_typeset_formulas(folder, formula, count, tmp_path):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "a.html").write_text(f'<html lang="en"><main><h1>A</h1>{formula}')
    found = list(check.faults(tmp_path))
    assert ["no typeset formula" in line for line in found] == [True] * count


def test_terms_that_the_glossary_does_not_explain_are_found(tmp_path):
    entries = [f'<dt id="term-{term.replace(" ", "-")}">' for term in check.EXPLAINED if term != "ntk"]
    (tmp_path / "glossary.html").write_text("".join(entries))
    (tmp_path / "b.html").write_text(", ".join(check.EXPLAINED[:-1]))
    assert [line.partition(": ")[2] for line in check.unexplained(tmp_path)] == [
        "ntk has no entry",
        f"{check.EXPLAINED[-1]} is on no other page",
    ]


def test_the_glossary_defines_the_terms_that_readers_search_for():
    text = (pages.ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    assert {term for term in check.EXPLAINED if f"\n{term}\n" not in text} == set()
