"""The report is one complete file, readable for people and programs."""

import re
import struct
import tomllib
import zlib
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import tacit
from tacit.cli import main
from tacit.papers import Claim, figures
from tacit.papers.catalogue import papers
from tacit.papers.completed import digest
from tacit.report import Shown, markup, page
from tacit.report import panels as recorded
from tacit.report.markup import html
from tacit.show.output_files import json_file
from tacit.theorems import theorems

pytestmark = pytest.mark.any_cpu

PAPERS = tuple(papers())

EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source"}
ROOT = Path(__file__).parents[2]
CLAIMS = (
    Claim("x_n stays below 10^−8 <of what it was> & more", 0.25, at_most=1.0),
    Claim("this fails", 3.0, at_least=10.0),
    Claim("nothing to see", float("nan"), at_most=1.0),
)


def png(width, height):
    """A minimal PNG of this size."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    rows = zlib.compress((b"\0" + b"\0" * ((width + 7) // 8)) * height)
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def shown(entry, claims=CLAIMS):
    content = {
        "figure": entry.key,
        "caption": entry.caption,
        "preset": "paper",
        "seed": 7,
        "parameters": entry.presets["paper"],
        "claims": [
            {**claim.to_dict(), "measured": None if claim.measured != claim.measured else claim.measured}
            for claim in claims
        ],
        "seconds": 12.34,
        "made_with": {"tacit": "9.8.7", "numpy": "2.4.6"},
    }
    return Shown(entry, content, png(30, 20))


class Read(HTMLParser):
    """The elements, attributes and visible text of a page; tags must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "title"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def whole():
    *made, last = figures()
    absent = Shown(last, {"figure": last.key, "left_out": "there are no data"}, None)
    return page([*map(shown, made), absent], "2031-02-03")


@pytest.fixture(scope="module")
def read(whole):
    return Read(whole)


def words(text):
    return " ".join(Read(html(text)).text.split())


def article(whole, entry):
    name = re.sub("[/.]", "-", entry.key)
    (found,) = re.findall(rf'<article class="panel" id="figure-{name}".*?</article>', whole, re.DOTALL)
    return found


def test_every_figure_is_there_with_its_claims_and_how_it_was_made(read, whole):
    entries = figures()
    found = re.findall(r'<article class="panel" id="([^"]*)".*?</article>', whole, re.DOTALL)
    assert len(found) == len(entries)
    for entry in entries[:-1]:
        text = Read(article(whole, entry)).text
        assert words(re.sub(r" \(Figure [\w.]+\)", "", entry.title)) in text
        assert words(entry.caption.partition(". ")[2]) in text
        assert all(words(claim.text) in text for claim in CLAIMS)
        for piece in (
            "0.25",
            "at most 1",
            "✓ holds",
            "at least 10",
            "✗ fails",
            "no measured claims",
            "12.3 s",
        ):
            assert piece in text
        assert f"tacit reproduce {entry.key} --preset paper --seed 7" in text
        assert "Tacit 9.8.7, NumPy 2.4.6" in text
        assert all(name in text for name in entry.presets["paper"])
    assert "Not made: there are no data." in Read(article(whole, entries[-1])).text
    assert "2031-02-03" in read.text


def test_claims_are_counted_for_each_paper(whole):
    rows = re.findall(r"<tr>.*?</tr>", whole.partition("<h2>")[0], re.DOTALL)[1:]
    assert len(rows) == len(PAPERS)
    for paper, row in zip(PAPERS, rows, strict=True):
        count = len(figures(paper))
        made = count - (paper == PAPERS[-1])
        numbers = [Read(cell).text for cell in re.findall(r"<td>.*?</td>", row)]
        known = len([each for each in theorems() if each.key.startswith(paper)])
        assert numbers[:4] == [f"{made} of {count}", str(made), str(2 * made), str(known)]


def test_every_theorem_and_every_erratum_is_there(read):
    for each in theorems():
        assert words(each.statement) in read.text
        assert each.key in read.text
    titles = re.findall(r"^### (.*)$", (ROOT / "docs/errata.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(titles) > 40
    assert [title for title in titles if words(title) not in read.text] == []


def test_nothing_is_asked_of_a_network(read, whole):
    """The only external addresses are links."""
    for tag, attributes in read.elements:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base")
        for name in ("src", "srcset", "data", "poster", "action", "background"):
            assert attributes.get(name, "data:image/png;base64,").startswith("data:image/png;base64,")
        assert not any(name.startswith("on") for name in attributes)
    assert "@import" not in whole and "url(" not in whole


def test_links_lead_somewhere_and_names_are_unique(read):
    names = Counter(attributes["id"] for _, attributes in read.elements if "id" in attributes)
    assert max(names.values()) == 1
    targets = [attributes["href"] for attributes in read.all("a") if "href" in attributes]
    assert len(targets) > len(figures())
    assert [each for each in targets if not (each.startswith("#") and each[1:] in names)] == []
    labels = [
        attributes["aria-labelledby"] for _, attributes in read.elements if "aria-labelledby" in attributes
    ]
    assert labels and set(labels) <= set(names)


def test_it_can_be_read_without_seeing_it(read):
    assert read.all("html")[0]["lang"] == "en"
    assert all(len(image["alt"]) > 20 for image in read.all("img"))
    assert len({image["alt"] for image in read.all("img")}) == len(read.all("img")) == len(figures()) - 1
    assert all((image["width"], image["height"]) == ("15", "10") for image in read.all("img"))
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all("scope" in head for head in read.all("th") if head) and read.all("main") and read.all("nav")


def luminance(colour):
    full = colour * 2 if len(colour) == 3 else colour
    parts = [int(full[i : i + 2], 16) / 255 for i in (0, 2, 4)] if len(full) == 6 else None
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_of_text_have_contrast_enough():
    """4.5 to 1, as required by WCAG 2, on white and on the background of the contents."""
    css = (Path(tacit.__file__).parent / "report/report.css").read_text()
    named = dict(re.findall(r"--(\w+): #([0-9a-f]{3,6})", css))
    colours = {named["ink"], named["soft"], named["link"], *re.findall(r"[ {]color: #([0-9a-f]{3,6})", css)}
    colours = {"".join(letter * 2 for letter in each) if len(each) == 3 else each for each in colours}
    assert len(colours) >= 5
    for ground in ("ffffff", named["ground"]):
        for each in colours:
            assert (luminance(ground) + 0.05) / (luminance(each) + 0.05) >= 4.5


def test_what_goes_beyond_the_papers_has_a_section_of_its_own(whole):
    text = Read(whole[whole.index('<section id="beyond">') : whole.index("</main>")]).text
    assert re.findall(r"[a-z]+20\d\d/[\w.-]+(?=:)", text) == [
        "woodworth2020/theorem2-l1-sharp",
        "woodworth2020/theorem2-l2-sharp",
        "woodworth2020/theorem9-sharp",
    ]
    assert "The explicit regularizer of depth 2 is the implicit one of depth 4" in text
    own = [entry for entry in figures() if not entry.key.startswith("practice/") and "/fig" not in entry.key]
    assert own and all(words(entry.title) in text for entry in own)


def test_packages_have_records_where_they_are_looked_for():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    placed = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    expected = []
    for path in (ROOT / "docs/networks").rglob("*.json"):
        name = path.relative_to(ROOT / "docs/networks")
        expected += [(recorded._PLACES, name.with_suffix(kind)) for kind in (".json", ".png")]
    assert len(expected) == 6
    home = Path(tacit.__file__).parents[1]
    assert placed == {
        (there / name).relative_to(ROOT).as_posix(): (here / name).relative_to(home).as_posix()
        for (here, there), name in expected
    }


def test_letters_mean_in_the_report_what_they_mean_on_the_page_of_errata():
    """The page has the notation of the report in LaTeX, letter for letter."""
    page = (
        (ROOT / "docs/errata.md").read_text(encoding="utf-8").partition("Notation:")[2].partition("\n\n")[0]
    )
    for latex, plain in (
        (r" \operatorname{arcsinh}", "·arcsinh"),
        (r"\sqrt{4 + z^2}", "√(4 + z²)"),
        (r"\sum_i", "Σ"),
        (r"\beta_i", "βᵢ"),
        (r"\beta", "β"),
        (r"\alpha", "α"),
        ("^2", "²"),
        ("-", "−"),
        ("$", ""),
    ):
        page = page.replace(latex, plain)
    assert " ".join(f"Notation:{page}".split()) == " ".join(markup.NOTATION.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("α^{2−D} x_n", "α<sup>2−D</sup> x<sub>n</sub>"),
        ("‖w_ℓ2‖ < 10^−8700", "‖w<sub>ℓ2</sub>‖ &lt; 10<sup>−8700</sup>"),
        ("(1+ε)^(−(2+ε)/2ε)", "(1+ε)<sup>−(2+ε)/2ε</sup>"),
        ("α^D, x_max², n^1/2", "α<sup>D</sup>, x<sub>max</sub>², n<sup>1/2</sup>"),
        ("Q^D_α, X_nX_mᵀ", "Q<sup>D</sup><sub>α</sub>, X<sub>n</sub>X<sub>m</sub>ᵀ"),
        ("2C^{1/h^{1−2α}}", "2C<sup>1/h<sup>1−2α</sup></sup>"),
        ("X̃_n is lifted", "X̃<sub>n</sub> is lifted"),
        ("e^shift, scale^depth·u", "e<sup>shift</sup>, scale<sup>depth</sup>·u"),
        ("e^log_scale, (scale_^depth_)", "e<sup>log_scale</sup>, (scale_<sup>depth_</sup>)"),
        ("h^αU, 10^−k", "h<sup>α</sup>U, 10<sup>−k</sup>"),
        ("−∇_θ L, ∇_W", "−∇<sub>θ</sub> L, ∇<sub>W</sub>"),
        ("∂_k H_ij = ∂_jH_ik", "∂<sub>k</sub> H<sub>ij</sub> = ∂<sub>j</sub>H<sub>ik</sub>"),
        ("θ'_n(m_n − g), θ′_n", "θ'<sub>n</sub>(m<sub>n</sub> − g), θ′<sub>n</sub>"),
        ("X_nW, Σν_nX_n", "X<sub>n</sub>W, Σν<sub>n</sub>X<sub>n</sub>"),
        ("test_of_it stays, so does a_name", "test_of_it stays, so does a_name"),
        ("a_Name stays, so do A_NAME and __name__", "a_Name stays, so do A_NAME and __name__"),
    ],
)
def test_formulas_are_set_with_indices_and_exponents(text, expected):
    assert html(text) == expected


def test_markdown_of_the_errata_keeps_no_dead_links():
    found = markup.rendered(
        "- **Test.** `x_n` in [`a`](../tests/a.py), [b](https://example.org)\n\n  > α^D\n"
    )
    assert "<strong>Test.</strong> <code>x_n</code> in <code>a</code>, " in found
    assert '<a href="https://example.org">b</a>' in found and "<blockquote>\n<p>α<sup>D</sup></p>" in found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Figures as written by `tacit reproduce`, with one missing and one incomplete."""
    monkeypatch.chdir(tmp_path)
    for entry in figures():
        files = {kind: Path(path) for kind, path in entry.files("made").items()}
        files["png"].parent.mkdir(parents=True, exist_ok=True)
        for kind in ("png", "pdf", "nc"):
            files[kind].write_bytes(png(30, 20))
        claims = [CLAIMS[0]] if entry.key != "min2021/fig1" else CLAIMS
        content = {**shown(entry, claims).content, "holds": len(claims) == 1}
        content["sha256"] = dict.fromkeys(("png", "pdf", "nc"), digest(png(30, 20)))
        files["json"].write_bytes(json_file(content, entry.command("paper", 7)))
    for kind in ("json", "png", "pdf", "nc"):
        Path(f"made/woodworth2020/fig2.{kind}").unlink()
    Path("made/woodworth2020/fig3a.png").unlink()
    return tmp_path


def test_the_command_takes_what_there_is_and_makes_what_is_missing(folder, capsys):
    line = ["report", "--from", "made", "--out", "report.html", "--jobs", "1"]
    assert main(line) == 1  # claims of one fail
    out, err = capsys.readouterr()
    assert err.startswith(
        "tacit: figures missing in made are made for the report only: made/woodworth2020/fig3a"
    )
    assert err.count("\n") == 1 and out.splitlines()[-1] == "report.html"
    assert f"fail, {len(figures()) - 2} kept" in out
    whole = (folder / "report.html").read_text(encoding="utf-8")
    for entry in figures():
        text = Read(article(whole, entry)).text
        made_now = entry.key in ("woodworth2020/fig2", "woodworth2020/fig3a")
        assert ("--preset quick --seed 0" if made_now else "--preset paper --seed 7") in text
        assert (f"Tacit {tacit.__version__}" if made_now else "Tacit 9.8.7") in text
    assert main(line) == 1  # over its own file
    (folder / "thesis.html").write_text("<!DOCTYPE html>\n<title>mine</title>")
    assert main(["report", "--from", "made", "--out", "thesis.html"]) == 2
    assert "was not written by Tacit as HTML" in capsys.readouterr().err
    assert main(["report", "--from", "made", "--out", "report.pdf"]) == 2
    assert main(["report", "--from", "thesis.html"]) == 2
    assert "no folder thesis.html" in capsys.readouterr().err
    assert main(["report", "--from", "typo"]) == 2
    assert "no folder typo; 'tacit reproduce all --out typo' makes it" in capsys.readouterr().err
    assert not (folder / "typo").exists()
