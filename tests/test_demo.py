"""The demonstration: its flow is independent of the potential that its limits minimize."""

from dataclasses import replace

import pytest

from tacit import demo
from tacit.models import Diagonal

pytestmark = pytest.mark.any_cpu


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "_SAMPLES", 12)
    monkeypatch.setattr(demo, "_FEATURES", 30)


def test_it_compares_a_limit_with_the_raw_weights(small, tmp_path, capsys):
    assert demo.demo(str(tmp_path))
    printed = " ".join(capsys.readouterr().out.split())
    assert "43 of 43 limits certified" in printed
    assert "raw weights from scale 0.001, independent of the potential that the limits minimize" in printed
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_it_fails_with_a_wrong_potential(small, tmp_path, monkeypatch, capsys):
    """With a scale seven times as large, limits are certified, but the flow does not end there."""
    right = Diagonal.potential
    monkeypatch.setattr(
        Diagonal, "potential", lambda model, d=None: right(replace(model, scale=7**0.5 * model.scale), d)
    )
    assert not demo.demo(str(tmp_path))
    assert "43 of 43 limits certified" in capsys.readouterr().out
