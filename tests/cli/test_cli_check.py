"""tacit check on the command line, and limits of neurons and networks there."""

import json
import re

import numpy as np
import pytest

import tacit
from tacit.cli import main
from tacit.models.linear import as_generator
from tacit.theorems import check, theorems

pytestmark = pytest.mark.any_cpu


def run(line):
    return main(line.split())


KNOWN = {"model", "X", "y", "predictor", "samples", "features"}  # the same for every case


def asked_about_tables():
    return [t for t in theorems() if set(t.needs) <= KNOWN and not t.matrices]


def folded_back(capsys):
    """The printed text with each paragraph on one line."""
    return "\n\n".join(" ".join(part.split()) for part in capsys.readouterr().out.split("\n\n"))


@pytest.fixture
def regression(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5, 12))
    y = X[:, 0] - X[:, 1]
    np.savez("data.npz", X=X, y=y)
    return X, y


@pytest.fixture
def classification(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [-1.2, -0.8, -0.2]])
    y = np.array([1.0, 1.0, -1.0])
    np.savez("data.npz", X=X, y=y)
    return X, y


def test_theorems_that_apply_are_printed_and_the_others_counted(regression, capsys):
    assert run("check data.npz --log-scale -60") == 0
    text = capsys.readouterr().out
    assert "woodworth2020/theorem2-l1-sharp: holds" in text
    assert "min2021/theorem1" not in text
    asked = asked_about_tables()
    assert f"of {len(asked)} theorems apply" in text and "--all shows the others" in text
    assert run("check data.npz --scale 0.3 --all") == 0
    text = capsys.readouterr().out
    assert all(t.key in text for t in asked) and "does not apply" in text


def test_json_has_the_verdicts_of_the_library(classification, capsys):
    assert run("check data.npz --scale 2 --only moroshko2020/lemma3 --json -") == 0
    content = json.loads(capsys.readouterr().out)
    verdict = check("moroshko2020/lemma3", tacit.Diagonal(scale=2.0), *classification)
    assert content["verdicts"] == [json.loads(json.dumps(verdict.to_dict()))]
    assert content["refused"] == {} and verdict.holds


def test_labels_are_asked_for_where_a_theorem_needs_them(regression, capsys):
    for rest in ("", " --json -", " --all"):
        assert run(f"check data.npz --only moroshko2020{rest}") == 2
        out, error = capsys.readouterr()
        assert out == "" and "labels" in error and error.count("\n") == 1
    assert run("check data.npz --json -") == 0
    refused = json.loads(capsys.readouterr().out)["refused"]
    assert len(refused) >= 4 and all("labels" in reason for reason in refused.values())


def test_the_default_model_has_its_theorem(regression, capsys):
    for depth, theorem in ((2, 1), (3, 3)):
        assert run(f"check data.npz --depth {depth} --scale 0.3") == 0
        text = folded_back(capsys)
        assert f"woodworth2020/theorem{theorem}: holds" in text
        count = len(asked_about_tables())
        assert re.search(rf"(\d+) of {count} theorems apply, \1 hold; --all shows the others", text)


def test_where_nothing_applies_the_nearest_say_what_they_lack(regression, capsys):
    assert run("check data.npz --scale 1e-3 --only woodworth2020/theorem2-l1") == 0
    text = folded_back(capsys)
    assert "NO log α = -6.90776 is at most -" in text and "(woodworth2020/theorem2-l1)" in text
    assert run("check data.npz --only min2021") == 0
    text = folded_back(capsys)
    assert "NO the model is a LinearNetwork (min2021/imbalance, theorem1, " in text
    assert run("check data.npz --depth 3 --log-scale -300") == 0
    text = folded_back(capsys)
    assert "woodworth2020/theorem3:" not in text and "woodworth2020/theorem3-ends: holds" in text
    assert "min2021" not in text and "\n\n\n" not in text


@pytest.mark.parametrize("depth", [2, 3])
def test_data_that_nothing_fits_are_answered(depth, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=[[1.0, 2.0], [2.0, 4.0]], y=[1.0, 3.0])
    assert run(f"check data.npz --depth {depth} --scale 0.1 --all") == 0
    text = folded_back(capsys)
    applies = "1 of {} theorems applies" if depth == 3 else "2 of {} theorems apply"
    assert "some w has Xw = y" in text and applies.format(len(asked_about_tables())) in text
    assert "practice/early-stopping: holds" in text  # the Lasso does not fit the data either


def test_data_that_no_theorem_takes_are_refused_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=[[1.0, 2.0], [2.0, 5.0]], y=[1.0, 3.5])
    assert run("check data.npz --only moroshko2020/lemma3") == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("tacit: ") and error.count("\n") == 1


def test_parameters_reach_the_theorems_that_have_them(regression, capsys):
    X, y = regression
    line = "check data.npz --log-scale -30 --only woodworth2020 --with epsilon=0.3 --with method=parameters"
    assert run(f"{line} --json -") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["parameters"] == {"epsilon": 0.3, "method": "parameters"}
    model = tacit.Diagonal(log_scale=-30)
    known = {"X": X, "y": y, "samples": 5, "features": 12, "predictor": tacit.limit(model, X, y).predictor}
    for verdict in content["verdicts"]:
        entry = next(each for each in theorems() if each.key == verdict["key"])
        given = {name: value for name, value in content["parameters"].items() if name in entry.options}
        given |= {name: value for name, value in known.items() if name in entry.needs}
        expected = check(verdict["key"], model, **given).to_dict()
        assert verdict["assumptions"] == expected["assumptions"]
        # Within one check, limits start from those at nearby scales and agree with separate ones to
        # round-off; relative differences of their norms are up to 6e-8, and ten times that is allowed.
        for found, alone in zip(verdict["bounds"], json.loads(json.dumps(expected["bounds"])), strict=True):
            assert found == {
                name: pytest.approx(each, rel=6e-7) if isinstance(each, float) else each
                for name, each in alone.items()
            }


def test_several_numbers_have_commas_between_them(classification, capsys):
    line = "check data.npz --only moroshko2020/theorem4 --with scales=1e4,1e5,1e6 --with power=0.4 --json -"
    assert run(line) == 0
    content = json.loads(capsys.readouterr().out)
    options = {"scales": [1e4, 1e5, 1e6], "power": 0.4}
    assert content["parameters"] == options
    verdict = check("moroshko2020/theorem4", tacit.Diagonal(), *classification, **options)
    assert content["verdicts"] == [json.loads(json.dumps(verdict.to_dict()))]


LIST = "('tacit check --list' shows all)"
WOODWORTH = [t for t in asked_about_tables() if t.key.startswith("woodworth2020/")]
TAKEN = ", ".join(sorted({name for each in WOODWORTH for name in each.options}))
MISTAKES = {
    "epsilon": "--with takes NAME=VALUE, such as epsilon=0.01, got 'epsilon'",
    "epsilon=": "--with takes NAME=VALUE, such as epsilon=0.01, got 'epsilon='",
    "=1": "--with takes NAME=VALUE, such as epsilon=0.01, got '=1'",
    "epsilon=small": "--with epsilon takes a number, or several separated by commas, got 'small'",
    "epsilon=1 --with epsilon=2": "--with epsilon is given twice",
    "epsilon=-1": "epsilon must be a positive number, got -1.0",
    "epsilon=1,2": "epsilon must be a positive number, got (1, 2)",
    "epsilom=1": f"none of the selected theorems takes a parameter 'epsilom'; they take epsilon {LIST}",
    "mu=1": f"none of the selected theorems takes a parameter 'mu'; they take {TAKEN} {LIST}",
    "method=guess": "method must be 'auto' or 'parameters', got 'guess'",
}


@pytest.mark.parametrize("given", MISTAKES)
def test_wrong_parameters_are_refused_in_one_line(given, regression, capsys):
    assert run(f"check data.npz --only woodworth2020 --with {given}") == 2
    assert capsys.readouterr() == ("", f"tacit: {MISTAKES[given]}\n")


def test_theorems_without_parameters_say_so(regression, capsys):
    assert run("check data.npz --only min2021/lemmaB.2 --with epsilon=1") == 2
    assert "they take none" in capsys.readouterr().err


def test_the_list_needs_no_data_and_has_every_theorem_with_its_parameters(capsys):
    with pytest.raises(SystemExit, match="0"):
        run("check --list")
    text = capsys.readouterr().out
    asked = asked_about_tables()
    listed = [line.strip() for line in text.splitlines()]
    for each in asked:
        place = next(i for i, line in enumerate(listed) if line.partition(" ")[0] == each.key)
        following = listed[place : place + 12]
        assert all(any(line.startswith(f"--with {name}=") for line in following) for name in each.options)
    assert text.startswith("Woodworth et al. 2020, ") and "\nMin et al. 2021, " in text
    assert "woodworth2020/lemma6 (Lemma 6, equations 31 to 37)" in listed
    assert "features: the number of columns" in listed and "predictor: the limit of the flow" in listed


def test_help_explains_every_parameter(capsys):
    with pytest.raises(SystemExit, match="0"):
        run("check --help")
    explained = capsys.readouterr().out.partition("parameters for --with:")[2]
    names = {name for each in asked_about_tables() for name in each.options}
    assert names and all(re.search(rf"^  ([a-z_]+, )*{name}\b", explained, re.MULTILINE) for name in names)


@pytest.mark.every(3)
@pytest.mark.parametrize("columns", [40, 80, 100])
def test_lines_fit_the_terminal(columns, classification, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run("check data.npz --scale 2 --all") == 0
    longest = max(capsys.readouterr().out.splitlines(), key=len)
    # formulas without spaces are not broken
    assert len(longest) <= columns or len(longest.split()) == 1


def test_linear_networks_have_their_own_theorems(regression, capsys):
    assert run("check data.npz --model linear --width 40 --only min2021/theorem1") == 0
    assert "min2021/theorem1: holds" in capsys.readouterr().out


def test_a_theorem_that_fails_is_status_1(regression, capsys, monkeypatch):
    from tacit.papers import statements as registry

    def broken(model, X, y):
        yield registry.Bound("more than it may be", 2.0, at_most=1.0)

    entry = registry.Theorem("woodworth2020/broken", "A statement that is false.", broken)
    monkeypatch.setitem(registry._THEOREMS.registered, entry.key, entry)
    assert main(["check", "data.npz", "--only", entry.key]) == 1
    text = capsys.readouterr().out
    assert f"{entry.key}: violated" in text and "1 of 1 theorem applies, and is violated" in text


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("nope", "the papers are woodworth2020, moroshko2020, azulay2021, min2021"),
        ("theorem1", "did you mean woodworth2020/theorem1, moroshko2020/theorem1 or azulay2021/theorem1?"),
        ("woodwoth2020", "did you mean woodworth2020? 'tacit check --list' shows all"),
        (
            "woodworth2020/lemma13",
            "is about matrices; use tacit.theorems.check('woodworth2020/lemma13', ",
        ),
    ],
)
def test_an_unknown_theorem_is_refused_with_the_nearest(only, words, regression, capsys):
    assert run(f"check data.npz --only {only}") == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_limits_of_neurons_on_the_command_line(regression, capsys):
    X, y = regression
    line = (
        "limit data.npz --model neuron --scale 0.2 --shape 0.5 --slope 0.3 --seed 4 --json - --plot limit.png"
    )
    assert run(line) == 0
    content = json.loads(capsys.readouterr().out)
    direction = as_generator(4).standard_normal(12)
    model = tacit.Neuron.from_scale(0.2, 0.5, direction, slope=0.3)
    np.testing.assert_allclose(content["predictor"], tacit.limit(model, X, y).predictor, rtol=1e-12)
    assert content["regime"]["name"] in ("kernel", "intermediate", "anti-kernel")


def test_networks_without_a_limit_are_refused_with_what_is_known(regression, capsys):
    assert run("limit data.npz --model linear --width 30") == 2
    error = capsys.readouterr().err
    assert "conserves the imbalance" in error and "of the minimum-norm solution" in error
    assert run("limit data.npz --model linear --width 30 --std 1e-13 --plot limit.png") == 0
    assert "anti-kernel" in capsys.readouterr().out


def test_what_takes_minutes_on_large_data_is_asked_by_name_only(classification, monkeypatch, capsys):
    monkeypatch.setattr("tacit.papers.checking.LONG", 9 * 5 - 1)  # of nine numbers
    assert run("check data.npz --scale 10 --json found.json") == 0
    slow = [each.key for each in asked_about_tables() if each.flows >= 5]
    assert "moroshko2020/theorem6" in slow
    assert f"skipped, since they take minutes on data of this size: {', '.join(slow)}" in folded_back(capsys)
    with open("found.json") as file:
        found = json.load(file)
    assert found["not_asked"] == slow
    assert not {each["key"] for each in found["verdicts"]} & set(slow)
    assert run("check data.npz --scale 10 --only moroshko2020/theorem4 --json -") == 0
    assert [each["key"] for each in json.loads(capsys.readouterr().out)["verdicts"]] == [
        "moroshko2020/theorem4"
    ]


def test_bounds_are_measured_where_a_theorem_applies_or_is_asked_for(regression, capsys, monkeypatch):
    from tacit.papers import statements as registry

    measured = []

    def elsewhere(model, X, y):
        yield registry.Assumption("something that is not so", False)
        measured.append(1)
        yield registry.Bound("a number", 1.0, at_most=2.0)

    entry = registry.Theorem("woodworth2020/elsewhere", "A statement about other data.", elsewhere)
    monkeypatch.setattr("tacit.papers.catalogue.papers", dict)
    monkeypatch.setattr(registry._THEOREMS, "registered", {entry.key: entry})
    assert run("check data.npz") == 0 and not measured
    assert run("check data.npz --all") == run(f"check data.npz --only {entry.key}") == 0
    assert len(measured) == 2 and "a number: 1 ≤ 2" in capsys.readouterr().out
