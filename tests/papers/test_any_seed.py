"""Claims hold on any seed, according to a record over many seeds that agrees with the current figures."""

import json
from functools import cache

import claims
import claims_page
import numpy as np
import pytest
from failure_rate import MOST

from tacit.errors import MissingDataError
from tacit.papers import figures

RECORD = json.loads(claims.RECORD.read_text(encoding="utf-8"))
ENTRIES = {entry.key: entry for entry in figures()}
NOT_HERE = {"woodworth2020/fig6d", "woodworth2020/fig8"}  # they need CIFAR-10
ENOUGH, FRESH = 50, 15  # seeds, and seeds computed after the thresholds were fixed
CHEAP = ("woodworth2020/fig1a", "woodworth2020/fig1b")


@cache
def computed(key, seed):
    """The measured values of a figure at a seed."""
    try:
        return claims.computed(ENTRIES[key], "quick", seed)[1]["claims"]
    except MissingDataError as error:
        pytest.skip(str(error))


def test_every_figure_is_in_the_record_with_its_claims_as_they_are():
    """If claims, thresholds or sizes of a figure change, run `benchmarks/claims.py FIGURE --write`."""
    assert set(RECORD) == set(ENTRIES) - NOT_HERE
    changed = [key for key in RECORD if RECORD[key]["source"] != claims.digest(ENTRIES[key], "quick")]
    assert changed == []


def test_seeds_are_many_and_far_apart():
    random = {key: figure for key, figure in RECORD.items() if not figure["fixed"]}
    assert [key for key, figure in random.items() if figure["seeds"] < ENOUGH] == []
    assert [key for key, figure in random.items() if figure["seeds"] - figure["seen"] < FRESH] == []
    assert min(np.diff(sorted(claims.seeds(50)))) >= 125  # draws k have the seed + k
    assert len(set(claims.seeds(50))) == 50 and claims.seeds(60)[:50] == claims.seeds(50)
    for figure in RECORD.values():
        count = 1 if figure["fixed"] else figure["seeds"]
        assert {len(claim["values"]) for claim in figure["claims"]} == {count}


@pytest.mark.parametrize("key", RECORD)
def test_claims_held_and_fail_at_most_once_in_a_thousand_seeds(key):
    figure = RECORD[key]
    assert [claim["text"] for claim in figure["claims"] if not claims.told(claim).holds] == []
    if not figure["fixed"]:
        doubtful = {claim["text"]: claims.chance(claim) for claim in figure["claims"]}
        assert {text: chance for text, chance in doubtful.items() if chance > MOST} == {}


@pytest.mark.parametrize("key", CHEAP)
def test_a_seed_gives_what_was_recorded(key):
    check(key, np.random.default_rng().integers(3, RECORD[key]["seeds"]))


@pytest.mark.thorough
@pytest.mark.parametrize("key", RECORD)
def test_all_figures_give_what_was_recorded(key):
    check(key, 0)


def check(key, number):
    """Texts and thresholds agree exactly; values agree up to round-off, which differs between CPUs."""
    figure, seed = RECORD[key], claims.seeds(RECORD[key]["seeds"])[number]
    now = computed(key, seed)
    assert len(now) == len(figure["claims"])
    for claim, kept in zip(now, figure["claims"], strict=True):
        for name in ("text", "at_least", "at_most", "of", "why"):
            assert (claim[name] or None) == (kept.get(name) or None)
        assert claims.told({**claim, "values": [claim["measured"]]}).holds
        size = max(abs(kept.get("at_most") or 0.0), abs(kept.get("at_least") or 0.0))
        assert claim["measured"] == pytest.approx(kept["values"][number], rel=0.02, abs=0.02 * size)


def test_the_page_shows_the_record():
    assert claims_page.PAGE.read_text(encoding="utf-8") == claims_page.page(RECORD)
    assert claims.RECORD.stat().st_size < 300_000


@pytest.mark.parametrize("key", RECORD)
def test_what_is_recorded_is_what_it_was_gathered_from(key):
    lines = list(claims.recorded(key, RECORD[key]))
    assert [line["seed"] for line in lines] == claims.seeds(RECORD[key]["seeds"])
    assert claims.gathered(lines, RECORD[key]["seen"]) == RECORD[key]


def test_seeds_that_are_recorded_are_not_computed_again(tmp_path, monkeypatch):
    key = CHEAP[0]
    monkeypatch.setattr(claims, "computed", lambda *_: pytest.fail("computed"))
    found = claims.runs(ENTRIES[key], "quick", RECORD[key]["seeds"], tmp_path / "none.jsonl", RECORD[key])
    assert claims.gathered(found, RECORD[key]["seen"]) == RECORD[key]


def test_texts_and_thresholds_may_change_under_measurements_that_stay(monkeypatch):
    """A changed threshold was chosen with knowledge of all recorded seeds."""
    key, compute = CHEAP[0], claims.computed
    once = cache(lambda preset, seed: compute(ENTRIES[key], preset, seed))
    monkeypatch.setattr(claims, "computed", lambda _, preset, seed: once(preset, seed))
    figure = RECORD[key]
    assert claims.unchanged(ENTRIES[key], "quick", {**figure, "source": "of old"}) == figure
    changed = json.loads(json.dumps(figure))
    for claim in changed["claims"]:
        claim["why"] = "another"
    assert claims.unchanged(ENTRIES[key], "quick", changed) == figure
    changed["claims"][0]["at_most"] = 1e9
    assert claims.unchanged(ENTRIES[key], "quick", changed) == {**figure, "seen": figure["seeds"]}
    assert claims.unchanged(ENTRIES[key], "quick", {**figure, "claims": figure["claims"][1:]}) is None
    other = json.loads(json.dumps(figure))
    other["claims"][0]["values"][0] += 1.0
    assert claims.unchanged(ENTRIES[key], "quick", other) is None


def test_seeds_that_were_there_when_the_code_changed_are_not_fresh():
    kept = {"source": "of old", "seeds": 50, "seen": 20}
    assert claims.in_view(None, "new") == 1
    assert claims.in_view(kept, "of old") == 20
    assert claims.in_view(kept, "new") == 50
