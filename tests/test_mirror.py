"""The mirror map of diagonal networks, in two ways of computing it."""

import numpy as np
import pytest

from tacit.flows.mirror import MirrorMap


@pytest.mark.parametrize("power", [np.inf, 3.0, 2.0, 1.25])
@pytest.mark.parametrize("log_scale", [0.0, -40.0])
def test_predictors_after_a_change_are_those_at_its_rapidities(power, log_scale):
    """From slopes of every size, up to 1e-12 from their ends, with changes of every size to either side."""
    rng = np.random.default_rng(0)
    u = rng.choice([-1, 1], 400) * 10 ** rng.uniform(-9, 1.2, 400)
    here = MirrorMap.at(power, np.full(400, log_scale), u)
    room = np.minimum(here.below, here.above) if power < np.inf else np.ones(400)
    for size in (0.0, 1e-12, 1e-3, 0.9):
        change = size * room * rng.uniform(-1, 1, 400)
        found, expected = here.predictor_at(change, 1e-8), here.predictor(here.rapidity(change, 1e-8))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
