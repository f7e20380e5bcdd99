"""Figures of the papers: every claim holds, and fails for a wrong implementation."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from figure_claims import failing, judged

import tacit
from tacit.cli import main
from tacit.papers import Claim, figures, reproduce
from tacit.papers.catalogue import papers
from tacit.papers.reproduction import PRESETS
from tacit.potentials import DeepHypentropy, Quadratic

pytestmark = pytest.mark.any_cpu
LONG_FIGURES = {  # these take seconds each
    "azulay2021/neuron-limits",
    "azulay2021/proposition1",
    "azulay2021/regime-map",
    "azulay2021/theorem3",
    "min2021/fig1",
    "min2021/fig3",
    "min2021/fig4",
    "moroshko2020/fig3a",
    "moroshko2020/fig3b",
    "moroshko2020/fig3c",
    "moroshko2020/fig3d",
    "moroshko2020/fig4a",
    "moroshko2020/fig4b",
    "moroshko2020/fig5a",
    "moroshko2020/fig5b",
    "moroshko2020/fig6",
    "moroshko2020/fig7",
    "moroshko2020/fig8a",
    "moroshko2020/fig8b",
    "moroshko2020/fig8c",
    "moroshko2020/fig9",
    "moroshko2020/open-question",
    "practice/adam",
    "practice/edge",
    "practice/grokking",
    "practice/momentum",
    "practice/step-size",
    "woodworth2020/commuting",
    "woodworth2020/fig1c",
    "woodworth2020/fig3c",
    "woodworth2020/fig5",
    "woodworth2020/fig6a",
    "woodworth2020/fig6b",
    "woodworth2020/fig6c",
    "woodworth2020/fig6d",
    "woodworth2020/fig7",
    "woodworth2020/fig8",
    "woodworth2020/theorem4",
    "woodworth2020/theorem9",
}


def test_long_figures_exist():
    assert {entry.key for entry in figures()} >= LONG_FIGURES


PAPERS = tuple(papers())

KEYS = [entry.key for entry in figures()]
MAY_BE_NAN = {
    "woodworth2020/fig1c": {"log_scale"},
    "woodworth2020/fig3c": {"log_scale"},
    "practice/edge": {"flow", "effective"},  # if a run does not converge
    "practice/normalized": {"distance"},  # if a run diverges
    "woodworth2020/fig6c": {"error", "moved", "end_loss"},  # if a step does not reach the end
    **{
        f"woodworth2020/fig6{name}": {"error", "distance", "kernel_distance"} for name in "ab"
    },  # if the flow comes to rest
    **{f"woodworth2020/fig{name}": {"moved", "loss", "accuracy", "test_error"} for name in ("6d", "8")},
}
REGISTERED = {
    *(f"woodworth2020/{name}" for name in ("fig1a", "fig1b", "fig1c", "fig2", "fig3a", "fig3b", "fig3c")),
    *(f"woodworth2020/{name}" for name in ("fig5", "theorem4", "theorem9", "commuting")),
    *(f"woodworth2020/fig{name}" for name in ("6a", "6b", "6c", "6d", "7", "8")),
    *(f"moroshko2020/fig{name}" for name in ("3a", "3b", "3c", "3d", "4a", "4b", "5a", "5b", "6", "7")),
    *(f"moroshko2020/{name}" for name in ("fig8a", "fig8b", "fig8c", "fig9", "open-question")),
    *(f"azulay2021/{name}" for name in ("fig7.1", "fig7.2", "regime-map", "neuron-limits", "warp")),
    *(f"azulay2021/{name}" for name in ("proposition1", "theorem3")),
    *(f"min2021/{name}" for name in ("fig1", "fig2", "fig3", "fig4")),
}
every_figure = pytest.mark.parametrize("key", KEYS)


def entry_of(key):
    (entry,) = figures(key)
    return entry


def test_these_figures_are_registered():
    """More may be registered by new papers."""
    assert set(KEYS) >= REGISTERED
    assert {key.split("/")[0] for key in KEYS} <= set(PAPERS)


def test_figures_come_in_reading_order():
    woodworth = ["commuting", "fig1a", "fig1b", "fig1c", "fig2", "fig3a", "fig3b", "fig3c", "fig5"]
    woodworth += ["fig6a", "fig6b", "fig6c", "fig6d", "fig7", "fig8", "theorem4", "theorem9"]
    assert [key for key in KEYS if key.startswith("woodworth2020/")] == [
        f"woodworth2020/{n}" for n in woodworth
    ]
    assert list(dict.fromkeys(key.split("/")[0] for key in KEYS)) == list(PAPERS)


@every_figure
def test_a_figure_has_a_key_a_caption_and_two_presets_with_the_same_parameters(key):
    entry = entry_of(key)
    paper, _, name = key.partition("/")
    assert paper in PAPERS
    if name.startswith("fig"):
        assert re.fullmatch(r"fig[\d.]+[a-z]?", name)
        assert re.search(rf"\(Figure {re.escape(name.removeprefix('fig'))}\)", entry.caption)
    else:  # a figure that is not in the paper
        assert re.fullmatch(r"[a-z]+[\d.]*(-[a-z]+)*", name) and len(entry.caption) > 40
    assert tuple(entry.presets) == PRESETS
    quick, paper_size = entry.presets.values()
    assert quick.keys() == paper_size.keys()


@pytest.mark.thorough_cases(*LONG_FIGURES)
@every_figure
def test_every_figure_can_be_made_and_its_claims_hold(key, made):
    result = made(key)
    assert [claim.summary() for claim in result.claims if not claim.holds] == []
    assert result.claims and result.holds
    check_claims(result.claims)
    check_data(key, result.data)
    check_files(key, result)
    check_flat(key, result.data)


def check_flat(key, data):
    """If all values are equal, claims fail but the run continues: a wrong flow may produce this."""
    measured = [
        name for name in data.data_vars if data[name].dtype.kind == "f" and name != "root"
    ]  # √k is an input
    for value in (0.0, 1.0):
        flat = data.assign({name: data[name] * 0 + value for name in measured})
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # logarithms and fits of undefined values
            assert not all(claim.holds for claim in entry_of(key).make().claims(flat))


def check_claims(claims):
    """Each claim says what was measured and what was expected."""
    for claim in claims:
        content = claim.to_dict()
        assert len(claim.text) > 10
        assert np.isfinite(content["measured"])
        assert content["at_least"] is not None or content["at_most"] is not None
        assert content["threshold"]
        assert content["verdict"] == "holds"
    assert len({claim.text for claim in claims}) == len(claims)


def check_data(key, data):
    """All values are finite, except those that may be undefined."""
    assert data.data_vars
    for name, values in data.variables.items():
        if values.dtype.kind == "f" and name not in MAY_BE_NAN.get(key, ()):
            assert np.isfinite(values.values).all(), name


def check_files(key, result):
    """The files contain the picture, the data and the verdicts."""
    import xarray as xr

    assert Path(result.files["png"]).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert Path(result.files["pdf"]).read_bytes().startswith(b"%PDF-")
    with xr.open_dataset(result.files["nc"], engine="scipy") as saved:
        assert saved.attrs["figure"] == key
        for name in result.data.data_vars:
            np.testing.assert_array_equal(saved[name].values, result.data[name].values)
    content = json.loads(Path(result.files["json"]).read_text(encoding="utf-8"))
    assert content["claims"] == [claim.to_dict() for claim in result.claims]
    assert (content["figure"], content["preset"], content["seed"]) == (key, "quick", 0)
    assert content["parameters"] == entry_of(key).presets["quick"]
    assert content["holds"] is True


SMALL = {
    "woodworth2020/fig1a": {"samples": 20, "features": 50, "scales": 4, "seeds": 2},
    "woodworth2020/fig1b": {"samples": 10, "features": 30, "scales": 9},
    "azulay2021/fig7.1": {"samples": 20, "features": 50, "scales": 3, "shapes": 3},
}


@pytest.mark.every(3)
@pytest.mark.parametrize("key", SMALL)
def test_claims_depend_on_the_seed_and_hold(key, made):
    other = judged(entry_of(key), 17)
    assert made(key).claims != other.claims
    assert failing(other) == []
    first, again = (judged(entry_of(key), 2, SMALL[key]) for _ in range(2))
    assert first.data.identical(again.data) and first.claims == again.claims


def kernel_always(model, X, y, **options):
    """A wrong implementation: the minimum ℓ2 norm solution for every model."""
    return REAL(Quadratic(), X, y, **options)


def small_scale_always(model, X, y, **options):
    """A wrong implementation: one that ignores the scale."""
    return REAL(tacit.Diagonal(2, 1e-6), X, y, **options)


def nowhere(model, X, y, **options):
    """A wrong implementation: one that returns NaN."""
    return replace(kernel_always(model, X, y), predictor=np.full(X.shape[1], np.nan))


def at_zero(model, X, y, **options):
    """A wrong implementation: one that never moves."""
    return replace(kernel_always(model, X, y), predictor=np.zeros(X.shape[1]))


REAL = tacit.limit
WRONG = [kernel_always, small_scale_always, at_zero]


@pytest.mark.every(4)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("key", ["woodworth2020/fig1a", "woodworth2020/fig1b", "azulay2021/fig7.1"])
def test_a_wrong_limit_fails_claims(monkeypatch, key, wrong):
    monkeypatch.setattr(tacit, "limit", wrong)
    assert failing(judged(entry_of(key)))


def of_another_scale(Q):
    """A theory with the right limits and a wrong scale: that of the predictor is 7.4 times larger."""
    return Q.shifted(2.0)


def of_the_weights_scale(Q):
    """A theory with the right limits and a wrong scale: α instead of α²."""
    return replace(Q, log_scale=Q.log_scale / 2)


def of_depth_three(Q):
    """A theory with the right limits and a wrong potential: that of depth 3."""
    return DeepHypentropy(3, Q.log_scale)


@pytest.mark.parametrize("wrong", [None, of_another_scale, of_the_weights_scale, of_depth_three])
@pytest.mark.parametrize("key", SMALL)
def test_raw_weights_detect_a_wrong_transition(monkeypatch, key, wrong):
    def limit(model, X, y):
        diagonal = isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal)
        return REAL(wrong(model.potential(X.shape[1])) if wrong and diagonal else model, X, y)

    monkeypatch.setattr(tacit, "limit", limit)
    (claim,) = [each for each in judged(entry_of(key), 3, SMALL[key]).claims if "raw weights" in each.text]
    assert claim.holds == (wrong is None)


@pytest.mark.every(4)
@pytest.mark.parametrize("key", ["woodworth2020/fig1a", "woodworth2020/fig1b", "azulay2021/fig7.1"])
def test_a_figure_with_failing_claims_is_made_and_reports_them(monkeypatch, tmp_path, key):
    monkeypatch.setattr(tacit, "limit", nowhere)
    assert not reproduce(entry_of(key), out=tmp_path).holds
    assert json.loads((tmp_path / f"{key}.json").read_text())["holds"] is False


@pytest.mark.every(6)
@pytest.mark.parametrize("wrong", [kernel_always, nowhere])
@pytest.mark.parametrize("key", ["woodworth2020/fig1c", "woodworth2020/fig3c"])
def test_claims_with_undefined_values_fail_and_the_figure_is_made(monkeypatch, tmp_path, key, wrong):
    monkeypatch.setattr(tacit, "limit", wrong)
    assert not reproduce(entry_of(key), out=tmp_path).holds
    assert (tmp_path / f"{key}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    verdicts = [claim["verdict"] for claim in json.loads((tmp_path / f"{key}.json").read_text())["claims"]]
    assert "fails" in verdicts


@pytest.mark.parametrize(
    ("measured", "thresholds", "holds"),
    [
        (1.0, {"at_most": 1.0}, True),
        (1.0, {"at_least": 1.0}, True),
        (1.1, {"at_most": 1.0}, False),
        (0.9, {"at_least": 1.0}, False),
        (0.9, {"at_least": 0.5, "at_most": 1.0}, True),
        (0.4, {"at_least": 0.5, "at_most": 1.0}, False),
        (float("nan"), {"at_most": 1.0}, False),
        (float("nan"), {"at_least": 1.0}, False),
        (float("nan"), {}, False),
        (float("inf"), {"at_most": 1.0}, False),
        (-float("inf"), {"at_least": 1.0}, False),
        (float("inf"), {"at_least": 1.0}, False),
        (np.float64("nan"), {"at_least": 0.0, "at_most": 1.0}, False),
    ],
)
def test_a_claim_holds_at_its_threshold_and_fails_beyond_it_and_at_nan(measured, thresholds, holds):
    claim = Claim("a sentence", measured, **thresholds)
    assert claim.holds is holds
    assert claim.to_dict()["verdict"] == ("holds" if holds else "fails")
    assert claim.summary().startswith("holds" if holds else "FAILS")


@pytest.mark.parametrize(
    ("selection", "match"),
    [
        ("nope", "no figure or paper 'nope'; the papers are woodworth2020, moroshko2020"),
        ("woodworth2020/fig9", "did you mean woodworth2020/fig[578], woodworth2020/fig"),
        ("fig1a", "did you mean woodworth2020/fig1a, .* or .*'tacit reproduce list' shows all"),
        ("", "no figure or paper"),
        ("wood", "no figure or paper"),
    ],
)
def test_an_unknown_figure_raises_with_a_suggestion(selection, match):
    with pytest.raises(tacit.InputError, match=match):
        figures(selection)


def test_a_paper_selects_its_figures_and_all_selects_all():
    assert [entry.key for entry in figures("azulay2021")] == [k for k in KEYS if k.startswith("azulay2021/")]
    assert [entry.key for entry in figures("all")] == KEYS


def test_an_unknown_preset_raises(tmp_path):
    with pytest.raises(tacit.InputError, match="preset must be one of quick, paper, got 'slow'"):
        reproduce(entry_of("woodworth2020/fig2"), preset="slow", out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def strict_json(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_the_command_replaces_its_own_files_and_no_others(tmp_path, capsys):
    command = ["reproduce", "woodworth2020/fig2", "--out", str(tmp_path), "--json", "-"]
    for seed in ("0", "0", str(2**70)):
        assert main([*command, "--seed", seed, "--force"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        (content,) = strict_json(out)["figures"]
        assert {"text", "measured", "threshold", "verdict"} <= content["claims"][0].keys()
        made = sorted(path.suffix for path in (tmp_path / "woodworth2020").iterdir())
        assert made == [".json", ".nc", ".pdf", ".png"]
    (tmp_path / "woodworth2020/fig2.nc").write_text("another file")
    assert main([*command, "--force"]) == 2  # not even with --force
    assert "fig2.nc exists and was not written by Tacit" in capsys.readouterr().err


def test_the_command_ends_with_status_1_when_a_claim_fails(tmp_path, capsys, monkeypatch):
    failing = [
        Claim("the first claim", 2.0, at_most=1.0),
        Claim("the second claim", float("nan"), at_most=1.0),
    ]
    monkeypatch.setattr(entry_of("woodworth2020/fig2").make, "claims", lambda self, data: iter(failing))
    command = ["reproduce", "woodworth2020/fig2", "--out", str(tmp_path)]
    assert main(command) == 1
    assert "FAILS  the first claim: 2 (at most 1)" in capsys.readouterr().out
    assert main([*command, "--json", "-"]) == 1
    assert strict_json(capsys.readouterr().out)["holds"] is False
